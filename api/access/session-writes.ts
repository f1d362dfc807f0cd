// How a session writes: to Kubernetes as the caller, names claimed first, and answered only once it is seen here and at every replica.
import { setTimeout as sleep } from "node:timers/promises";
import { Claim } from "../../crds/claim/claim.ts";
import { API_MANAGER, SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import type { Draft, KubeClient, Patch } from "../../kube/client/client.ts";
import { isAlreadyExists, isConflict, isForbidden, isNotFound, type Status } from "../../kube/client/errors.ts";
import { objectKey, type KubeObject } from "../../kube/api/object.ts";
import { resourceId, type ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Asked } from "./rbac-authorizer.ts";
import type { Rights } from "./caller-permissions.ts";
import { claimedName, claimOf, dropClaim, type HeldClaim, takeClaim } from "./name-claims.ts";
import { CFError, notAuthorized, notFound } from "../http/errors.ts";
import { isPolicyRefusal } from "../http/error-translation.ts";
import { keepUpdatedAt } from "../cache/object-times.ts";
import { wordFor } from "../cf/kind-title.ts";
import type { Mark } from "../peers/read-barrier.ts";
import type { Reads, SessionDeps, Writes } from "./session.ts";

/** How long a refusal that RBAC does not explain is tried again: the API server's own RBAC cache lags. Milliseconds. */
const lagMs = 2000;
/** How often a read-modify-write is tried when others write the same object. */
const maxConflicts = 6;

/** What writes need: `own` speaks as the caller. */
export type WriteContext = Reads & Pick<SessionDeps, "replicas"> & { readonly platform: KubeClient; own: () => KubeClient; rights: Rights };

/** As `require`, and what may be asked next about the namespace is asked ahead: after a write the handler cannot be run again. */
async function requireNow({ rights }: WriteContext, asked: Asked): Promise<void> {
  if (!(await rights.decide(asked))) throw notAuthorized();
  await rights.foresee(asked.namespace ?? "");
}

/** The writes of a session. */
export function sessionWrites(context: WriteContext): Writes {
  return {
    create: (ref, draft, taken = nameTaken) => create(context, ref, draft, taken),
    patch: (ref, object, patch, renamed) => (renamed ? rename(context, ref, object, { patch, ...renamed }) : patchOnly(context, ref, object, patch)),
    change: (ref, object, body) => change(context, ref, object, body),
    remove: (ref, object) => remove(context, ref, object),
    share: (refs) => context.replicas.share(refs),
  };
}

async function create<T extends KubeObject>(context: WriteContext, ref: ResourceRef<T>, draft: Draft, taken: () => CFError): Promise<T> {
  const { view, signal, own, now, platform, replicas } = context;
  const { namespace } = draft.metadata;
  const asked: Asked = { verb: "create", on: ref, ...(namespace && { namespace }) };
  await requireNow(context, asked);
  const claim = await takeClaim({ client: platform, view, signal, now }, ref, draft, taken);
  try {
    const lags = (error: unknown): boolean => (isRefused(error) || isNotFound(error)) && context.allows(asked);
    const made = keepUpdatedAt(await patiently(() => own().create<T>(ref, draft, { signal, fieldManager: API_MANAGER }), lags, signal));
    await replicas.written([...written(ref, made), ...writtenClaim(claim)]);
    return made;
  } catch (error) {
    await claim?.release();
    if (isAlreadyExists(error)) throw taken();
    throw error;
  }
}

async function patchOnly<T extends KubeObject>(context: WriteContext, ref: ResourceRef<T>, object: T, patch: Patch): Promise<T> {
  const { replicas, signal, own } = context;
  const asked: Asked = { verb: "patch", on: ref, ...objectKey(object) };
  const retry = (error: unknown): boolean => (isRefused(error) && context.allows(asked)) || (isConflict(error) && !carriesVersion(patch));
  try {
    const made = keepUpdatedAt(await patiently(() => own().patch<T>(ref, objectKey(object), patch, { signal, fieldManager: API_MANAGER }), retry, signal));
    await replicas.written(written(ref, made));
    return made;
  } catch (error) {
    throw isNotFound(error) ? notFound(wordFor(ref)) : error;
  }
}

async function change<T extends KubeObject>(context: WriteContext, ref: ResourceRef<T>, object: T, body: (current: T) => Record<string, unknown> | undefined): Promise<T> {
  // Nothing to do is no way around the right to do it.
  await requireNow(context, { verb: "patch", on: ref, ...objectKey(object) });
  let current = object;
  for (let attempt = 1; ; attempt++) {
    const patch = body(current);
    if (!patch) return current;
    const metadata = { ...(patch["metadata"] as object | undefined), resourceVersion: current.metadata.resourceVersion };
    try {
      return await patchOnly(context, ref, current, { type: "merge", body: { ...patch, metadata } });
    } catch (error) {
      if (!isConflict(error) || attempt === maxConflicts) throw error;
    }
    // Visible a moment ago, so the platform may look for what is newer than the index.
    const newer = await context.platform.find(ref, objectKey(object), { signal: context.signal });
    if (newer?.metadata.uid !== object.metadata.uid) throw notFound(wordFor(ref));
    current = newer as T;
  }
}

async function rename<T extends KubeObject>(context: WriteContext, ref: ResourceRef<T>, object: T, how: { patch: Patch; to: T; taken: () => CFError }): Promise<T> {
  const { view, signal, now, platform } = context;
  await requireNow(context, { verb: "patch", on: ref, ...objectKey(object) });
  const before = claimedName(view, ref, object);
  const claim = await takeClaim({ client: platform, view, signal, now }, ref, how.to, how.taken);
  try {
    const made = await patchOnly(context, ref, object, how.patch);
    if (claim?.resourceVersion) {
      const left = claimOf(view, before, ref, object);
      if (left) await dropClaim(platform, left);
      await context.replicas.written(writtenClaim(claim));
    }
    return made;
  } catch (error) {
    await claim?.release();
    throw error;
  }
}

async function remove(context: WriteContext, ref: ResourceRef, object: KubeObject): Promise<void> {
  const { view, signal, own, platform, replicas } = context;
  const asked: Asked = { verb: "delete", on: ref, ...objectKey(object) };
  const claim = claimOf(view, claimedName(view, ref, object), ref, object);
  const { uid = "", namespace, resourceVersion = "" } = object.metadata;
  try {
    await patiently(() => own().delete(ref, objectKey(object), { signal, preconditions: { uid } }), (error) => isRefused(error) && context.allows(asked), signal);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  await replicas.written([{ resource: resourceId(ref), namespace, version: resourceVersion, gone: uid }]);
  // Terminating objects keep their name; the controller that finishes them gives it back. Looked up in its own namespace, which is in sight whatever others are.
  if (!claim || view.store(ref).find(objectKey(object))?.metadata.uid === uid) return;
  // A controller may have been quicker; its deletion is waited for as ours.
  if (await dropClaim(platform, claim)) await replicas.written(goneClaim(claim));
}

function nameTaken(): CFError {
  return new CFError("UnprocessableEntity", "The name is taken.");
}

/** Refused by RBAC, which may lag; an admission policy means what it says. */
function isRefused(error: unknown): boolean {
  return isForbidden(error) && !isPolicyRefusal(error);
}

function carriesVersion(patch: Patch): boolean {
  return patch.type !== "json" && (patch.body["metadata"] as { resourceVersion?: string } | undefined)?.resourceVersion !== undefined;
}

/** Tries again, with growing pauses and for two seconds, what fails for a reason that should pass by itself. */
async function patiently<T>(attempt: () => Promise<T | Status>, shouldRetry: (error: unknown) => boolean, signal: AbortSignal): Promise<T> {
  const end = Date.now() + lagMs;
  for (let pause = 20; ; pause *= 2) {
    try {
      return (await attempt()) as T;
    } catch (error) {
      if (!shouldRetry(error) || Date.now() + pause > end) throw error;
    }
    await sleep(pause, undefined, { signal });
  }
}

function written(ref: ResourceRef, { metadata: { namespace, resourceVersion } }: KubeObject): Mark[] {
  return resourceVersion ? [{ resource: resourceId(ref), namespace, version: resourceVersion }] : [];
}

function writtenClaim(claim: HeldClaim | undefined): Mark[] {
  return claim?.resourceVersion ? [{ resource: resourceId(Claim), namespace: SYSTEM_NAMESPACE, version: claim.resourceVersion }] : [];
}

/** Whose a host is, claims say: once a deletion is answered, every replica knows that it is free. */
function goneClaim({ metadata: { uid, resourceVersion } }: Claim): Mark[] {
  return uid && resourceVersion ? [{ resource: resourceId(Claim), namespace: SYSTEM_NAMESPACE, version: resourceVersion, gone: uid }] : [];
}
