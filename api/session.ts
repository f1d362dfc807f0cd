// Reads and writes with the caller's rights. Reads are answered from memory; writes go to Kubernetes as the caller, and are seen here before they are answered.
import { setTimeout as sleep } from "node:timers/promises";
import { Claim } from "../crds/claim/claim.ts";
import { API_MANAGER, SYSTEM_NAMESPACE } from "../crds/groups.ts";
import type { Draft, KubeClient, Patch } from "../kube/client/client.ts";
import { isAlreadyExists, isConflict, isForbidden, isNotFound, type Status } from "../kube/client/errors.ts";
import type { KubeObject, ObjectKey } from "../kube/object.ts";
import type { Store } from "../kube/reader.ts";
import { resourceId, type ResourceRef } from "../kube/resource-ref.ts";
import type { Asked } from "./authorization.ts";
import { claimedName, type HeldClaim, holdsName, releaseName, takeClaim } from "./claims.ts";
import { CFError, notAuthorized, notFound } from "./errors.ts";
import { isPolicyRefusal } from "./fault.ts";
import type { Permission } from "./endpoint.ts";
import type { Caller } from "./identity/caller.ts";
import { requireActive } from "./lib/suspension.ts";
import { keepUpdatedAt } from "./lib/times.ts";
import { wordFor } from "./lib/words.ts";
import type { Mark } from "./replicas/floors.ts";
import type { Replicas } from "./replicas/replicas.ts";
import { createRights, type Rights, type RightsDeps } from "./caller-rights.ts";
import type { View } from "./view.ts";

/** How long a refusal that RBAC does not explain is tried again: the API server's own RBAC cache lags. Milliseconds. */
const lagMs = 2000;
/** How often a read-modify-write is tried when others write the same object. */
const maxConflicts = 6;

export interface SessionDeps {
  view: View;
  /** The platform's own identity: reads for nobody, writes claims and what a caller may not touch directly. */
  platform: KubeClient;
  replicas: Pick<Replicas, "written" | "share">;
  now: () => Date;
  /** Where rights are reviewed by the cluster's authorizers; undefined where RBAC alone decides. */
  review?: RightsDeps["review"];
}

/** Narrows a list to a few namespaces, or to what an index files under a value. */
export type Within = { namespaces?: readonly string[]; index?: readonly [name: string, value: string] };

export interface Session {
  readonly caller: Caller;
  readonly view: View;
  /** The platform's own client. Only for claims, and for Secrets after `allows` said yes. */
  readonly platform: KubeClient;
  readonly signal: AbortSignal;
  readonly now: () => Date;
  /** Whether equal lists are equal until an object or RBAC changes. */
  readonly lasting: boolean;
  /** Runs the handler until every right it asks for is known (caller-rights.ts); `discard` gets answers that do not count. */
  settled: Rights["settled"];
  /** Whether the caller is allowed this. */
  allows(asked: Asked): boolean;
  /** Throws 403 unless `allows`. */
  require(asked: Asked): void;
  /** Whether the caller may get this object, and it is in force. */
  sees(ref: ResourceRef, object: KubeObject): boolean;
  /** The object with that GUID if the caller sees it. */
  find<T extends KubeObject>(ref: ResourceRef<T>, guid: string): T | undefined;
  /** Also requires the rights that the endpoint declares on objects of this kind. @throws CFError `<Kind> not found`, or 403 */
  get<T extends KubeObject>(ref: ResourceRef<T>, guid: string): T;
  /** All the caller sees, in no order. */
  list<T extends KubeObject>(ref: ResourceRef<T>, within?: Within): T[];
  /** Creates as the caller. Kinds with unique names are claimed first; `taken` makes the loser's error. */
  create<T extends KubeObject>(ref: ResourceRef<T>, draft: Draft, taken?: () => CFError): Promise<T>;
  /** Patches as the caller. Give `renamed` (the object as it will be) when that changes the CF name. */
  patch<T extends KubeObject>(ref: ResourceRef<T>, object: T, patch: Patch, renamed?: { to: T; taken: () => CFError }): Promise<T>;
  /**
   * Read, modify, write: `body` makes the merge patch from the object as it is (undefined: nothing to do). The version goes along; when somebody was
   * quicker it is made again from the newer object, a few times.
   */
  change<T extends KubeObject>(ref: ResourceRef<T>, object: T, body: (current: T) => Record<string, unknown> | undefined): Promise<T>;
  /** Deletes as the caller; returns once the object is gone or terminating at every replica, or none answers before it is. */
  remove(ref: ResourceRef, object: KubeObject): Promise<void>;
  /** To be called before answering with what others have written: all replicas have then seen of these kinds what this one has. */
  share(refs: readonly ResourceRef[]): Promise<void>;
}

/** What one request brings to its session. `permission` is the endpoint's. */
export interface SessionRequest {
  caller: Caller;
  signal: AbortSignal;
  permission: Permission;
  /** Whether it may change anything: it is no GET. */
  writes: boolean;
}

/** A session of one request. */
export function createSession(deps: SessionDeps, request: SessionRequest): Session {
  const { caller } = request;
  const rights = createRights({ authorization: deps.view.authorization, review: deps.review }, request);
  const reads = sessionReads(deps, request, rights);
  // A connection as the caller is for those who write: most requests only read.
  let own: KubeClient | undefined;
  const writes = sessionWrites({
    ...reads,
    replicas: deps.replicas,
    rights,
    get platform() {
      rights.commit();
      return deps.platform;
    },
    own() {
      rights.commit();
      return (own ??= caller.connect(deps.platform));
    },
  });
  return {
    ...reads,
    ...writes,
    get platform() {
      rights.commit();
      return deps.platform;
    },
  };
}

type Writes = Pick<Session, "create" | "patch" | "change" | "remove" | "share">;
type Reads = Omit<Session, keyof Writes | "platform">;

function sessionReads({ view, now }: SessionDeps, { caller, signal, permission }: SessionRequest, rights: Rights): Reads {
  const declared = typeof permission === "string" ? [] : [permission].flat();
  const reads: Reads = {
    caller,
    view,
    signal,
    now,
    lasting: rights.lasting,
    settled: (attempt, discard) => rights.settled(attempt, discard),
    allows: (asked) => rights.allows(asked),
    require(asked) {
      if (!reads.allows(asked)) throw notAuthorized();
    },
    sees: (ref, object) => holdsName(view, ref, object) && reads.allows({ verb: "get", on: ref, ...keyOf(object) }),
    find(ref, guid) {
      const object = view.byGUID(ref, guid);
      return object && reads.sees(ref, object) ? object : undefined;
    },
    get(ref, guid) {
      const object = reads.find(ref, guid);
      if (!object) throw notFound(wordFor(ref));
      // Before anything else is looked at, so that no shortcut of a handler goes round the right.
      for (const { verb, on, subresource } of declared) {
        if (on.kind !== ref.kind || verb === "create") continue;
        reads.require({ verb, on, ...(subresource && { subresource }), ...keyOf(object) });
        if (verb !== "get") requireActive(reads, object.metadata.namespace);
      }
      return object;
    },
    list: (ref, within = {}) => listVisible(view, rights, ref, within),
  };
  return reads;
}

/** What writes need: `own` speaks as the caller. */
type WriteContext = Reads & Pick<SessionDeps, "replicas"> & { readonly platform: KubeClient; own: () => KubeClient; rights: Rights };

/** As `require`, and what may be asked next about the namespace is asked ahead: after a write the handler cannot be run again. */
async function requireNow({ rights }: WriteContext, asked: Asked): Promise<void> {
  if (!(await rights.decide(asked))) throw notAuthorized();
  await rights.foresee(asked.namespace ?? "");
}

function sessionWrites(context: WriteContext): Writes {
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
  const asked: Asked = { verb: "patch", on: ref, ...keyOf(object) };
  const retry = (error: unknown): boolean => (isRefused(error) && context.allows(asked)) || (isConflict(error) && !carriesVersion(patch));
  try {
    const made = keepUpdatedAt(await patiently(() => own().patch<T>(ref, keyOf(object), patch, { signal, fieldManager: API_MANAGER }), retry, signal));
    await replicas.written(written(ref, made));
    return made;
  } catch (error) {
    throw isNotFound(error) ? notFound(wordFor(ref)) : error;
  }
}

async function change<T extends KubeObject>(context: WriteContext, ref: ResourceRef<T>, object: T, body: (current: T) => Record<string, unknown> | undefined): Promise<T> {
  // Nothing to do is no way around the right to do it.
  await requireNow(context, { verb: "patch", on: ref, ...keyOf(object) });
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
    const newer = await context.platform.find(ref, keyOf(object), { signal: context.signal });
    if (newer?.metadata.uid !== object.metadata.uid) throw notFound(wordFor(ref));
    current = newer as T;
  }
}

async function rename<T extends KubeObject>(context: WriteContext, ref: ResourceRef<T>, object: T, how: { patch: Patch; to: T; taken: () => CFError }): Promise<T> {
  const { view, signal, now, platform } = context;
  await requireNow(context, { verb: "patch", on: ref, ...keyOf(object) });
  const before = claimedName(view, ref, object);
  const claim = await takeClaim({ client: platform, view, signal, now }, ref, how.to, how.taken);
  try {
    const made = await patchOnly(context, ref, object, how.patch);
    if (claim?.resourceVersion) await releaseName({ client: platform, view }, before, ref, object);
    if (claim?.resourceVersion) await context.replicas.written(writtenClaim(claim));
    return made;
  } catch (error) {
    await claim?.release();
    throw error;
  }
}

async function remove(context: WriteContext, ref: ResourceRef, object: KubeObject): Promise<void> {
  const { view, signal, own, platform, replicas } = context;
  const asked: Asked = { verb: "delete", on: ref, ...keyOf(object) };
  const name = claimedName(view, ref, object);
  const { uid = "", namespace, resourceVersion = "" } = object.metadata;
  try {
    await patiently(() => own().delete(ref, keyOf(object), { signal, preconditions: { uid } }), (error) => isRefused(error) && context.allows(asked), signal);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  await replicas.written([{ resource: resourceId(ref), namespace, version: resourceVersion, gone: uid }]);
  // Terminating objects keep their name; the controller that finishes them gives it back.
  if (!view.store(ref).byUid(uid)) await releaseName({ client: platform, view }, name, ref, object);
}

function nameTaken(): CFError {
  return new CFError("UnprocessableEntity", "The name is taken.");
}

/** Refused by RBAC, which may lag; an admission policy means what it says. */
function isRefused(error: unknown): boolean {
  return isForbidden(error) && !isPolicyRefusal(error);
}

function keyOf(object: KubeObject): ObjectKey {
  const { name, namespace } = object.metadata;
  return namespace ? { name, namespace } : { name };
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

/** The visible objects of a kind. By RBAC only namespaces are walked where the caller has a role, unless a cluster-wide rule opens all. */
function listVisible<T extends KubeObject>(view: View, rights: Rights, ref: ResourceRef<T>, within: Within): T[] {
  const store = view.store(ref);
  const visible = rights.visible(ref, candidates(store, rights, ref, within)).filter((object) => holdsName(view, ref, object));
  return store.synced ? visible : store.list();
}

function candidates<T extends KubeObject>(store: Store<T>, rights: Rights, ref: ResourceRef<T>, within: Within): Iterable<T> {
  if (within.index) return store.byIndex(within.index[0], within.index[1]);
  const namespaces = within.namespaces ?? (ref.namespaced ? rights.namespaces(ref) : undefined);
  return namespaces ? namespaces.flatMap((namespace) => store.list({ namespace })) : store.list();
}
