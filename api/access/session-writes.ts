// A session's writes. They go to Kubernetes as the caller, claim names first, and return once this replica and all others have observed them.
import { Claim } from "../../crds/claim/claim.ts";
import { API_FIELD_MANAGER, SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import type { Draft, KubeClient, Patch, WriteOptions } from "../../kube/client/client.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../../kube/client/errors.ts";
import { objectKey, type KubeObject } from "../../kube/api/object.ts";
import { resourceId, type ResourceRef } from "../../kube/api/resource-ref.ts";
import type { AccessAttributes } from "../cache/rbac-authorizer.ts";
import type { CallerPermissions } from "./caller-permissions.ts";
import { claimedName, findClaimOf, handOverClaim, releaseClaim, type HeldClaim, acquireClaim } from "./name-claims.ts";
import { CFError, notAuthorized, notFound } from "../http/errors.ts";
import { admissionWarning } from "../http/error-translation.ts";
import { NO_POLICY_CHECK, refusedByPolicy, type PlannedWrite, type PolicyCheck } from "./policy-check.ts";
import { withStartTrace, withTrace } from "./traced-writes.ts";
import { isRbacDenial, retryWhile } from "./rbac-lag.ts";
import { retryOnConflict } from "./retry-on-conflict.ts";
import { recordLastWrite } from "../cache/object-times.ts";
import { kindTitle } from "../http/kind-title.ts";
import type { WriteMark } from "../peers/read-barrier.ts";
import type { SessionReader, SessionDeps, SessionWriter } from "./session.ts";

/** For each half of a move, whatever becomes of the request. */
const OUTLASTING_MS = 30_000;

/** Dependencies of writes. `callerClient` connects as the caller. */
export type WriteContext = Pick<SessionReader, "cache" | "signal" | "now" | "allows"> &
  Pick<SessionDeps, "peers"> & {
    readonly platformClient: KubeClient;
    callerClient: () => KubeClient;
    permissions: CallerPermissions;
    policy: PolicyCheck;
    /** Adds an X-Cf-Warnings entry. */
    warn: (text: string) => void;
    /** Learns of each question before it is asked. */
    reportUndeclared: (asked: AccessAttributes) => void;
  };

/** As `authorize`, with a review when there is no answer yet. Also reviews the permissions that the reply may check in the namespace. */
export async function authorizeWrite(
  context: Pick<WriteContext, "permissions" | "reportUndeclared">,
  asked: AccessAttributes,
): Promise<void> {
  const { permissions } = context;
  context.reportUndeclared(asked);
  if (!(await permissions.decide(asked))) throw notAuthorized();
  if (asked.namespace) await permissions.judgeNamespace?.(asked.namespace);
}

/** Call it before the first write, a claim included. @throws CFError 422 with a sentence for each policy that denies the write, 403 when the caller may not make it at all */
async function requirePolicy(context: WriteContext, asked: AccessAttributes, write: PlannedWrite): Promise<void> {
  const refusals = context.policy.refusals(asked.on, write);
  if (refusals.length === 0) return;
  if (!(await context.permissions.decide(asked))) throw notAuthorized();
  throw refusedByPolicy(refusals);
}

/** Options of a write as the caller. */
function writeOptions({ signal, warn }: WriteContext): WriteOptions {
  return {
    signal,
    fieldManager: API_FIELD_MANAGER,
    onWarning: (text) => {
      const warning = admissionWarning(text);
      if (warning !== undefined) warn(warning);
    },
  };
}

export function createSessionWriter(context: WriteContext): SessionWriter {
  return {
    create: (ref, draft, taken = nameTakenError) => create(context, ref, draft, taken),
    patch: (ref, object, patch, renamed) =>
      renamed ? rename(context, ref, object, { patch, ...renamed }) : patchObject(context, ref, object, patch),
    patchWithRetry: (ref, object, body) => patchWithRetry(context, ref, object, body),
    move: (ref, object, draft, taken) => move(context, ref, object, { draft, taken }),
    delete: (ref, object) => remove(context, ref, object),
  };
}

async function create<T extends KubeObject>(
  context: WriteContext,
  ref: ResourceRef<T>,
  draft: Draft,
  taken: () => CFError,
): Promise<T> {
  const { cache, signal, callerClient, now, platformClient, peers } = context;
  const { namespace } = draft.metadata;
  const asked: AccessAttributes = { verb: "create", on: ref, ...(namespace && { namespace }) };
  await authorizeWrite(context, asked);
  await requirePolicy(context, asked, { draft });
  const claim = await acquireClaim({ client: platformClient, cache, signal, now }, ref, draft, taken);
  const traced = withTrace(draft);
  try {
    const isRetriable = (error: unknown): boolean =>
      (isRbacDenial(error) || isNotFound(error)) && context.allows(asked);
    const created = recordLastWrite(
      await retryWhile(() => callerClient().create<T>(ref, traced, writeOptions(context)), isRetriable, signal),
    );
    await peers.publishWrites([...toWriteMarks(ref, created), ...toClaimMarks(claim)]);
    return created;
  } catch (error) {
    await claim?.release();
    if (isAlreadyExists(error)) throw taken();
    throw error;
  }
}

async function patchObject<T extends KubeObject>(
  context: WriteContext,
  ref: ResourceRef<T>,
  object: T,
  patch: Patch,
): Promise<T> {
  const { peers, signal, callerClient } = context;
  const asked: AccessAttributes = { verb: "patch", on: ref, ...objectKey(object) };
  context.reportUndeclared(asked);
  await requirePolicy(context, asked, { object, patch });
  const traced = await withStartTrace(context.permissions, ref, object, patch);
  const retry = (error: unknown): boolean =>
    (isRbacDenial(error) && context.allows(asked)) || (isConflict(error) && !hasResourceVersion(patch));
  try {
    const made = recordLastWrite(
      await retryWhile(
        () => callerClient().patch<T>(ref, objectKey(object), traced, writeOptions(context)),
        retry,
        signal,
      ),
    );
    await peers.publishWrites(toWriteMarks(ref, made));
    return made;
  } catch (error) {
    throw isNotFound(error) ? notFound(kindTitle(ref)) : error;
  }
}

async function patchWithRetry<T extends KubeObject>(
  context: WriteContext,
  ref: ResourceRef<T>,
  object: T,
  body: (current: T) => Record<string, unknown> | undefined,
): Promise<T> {
  // A patch that changes nothing needs the permission too.
  await authorizeWrite(context, { verb: "patch", on: ref, ...objectKey(object) });
  return await retryOnConflict(async (conflicts) => {
    const current = conflicts === 0 ? object : await readNewest(context, ref, object);
    const patch = body(current);
    if (!patch) return current;
    const metadata = {
      ...(patch["metadata"] as object | undefined),
      resourceVersion: current.metadata.resourceVersion,
    };
    return await patchObject(context, ref, current, { type: "merge", body: { ...patch, metadata } });
  }, context.signal);
}

/** The caller could see it a moment ago, so the platform may read the version that the cache does not have yet. */
async function readNewest<T extends KubeObject>(context: WriteContext, ref: ResourceRef<T>, object: T): Promise<T> {
  const newer = await context.platformClient.find(ref, objectKey(object), { signal: context.signal });
  if (newer?.metadata.uid !== object.metadata.uid) throw notFound(kindTitle(ref));
  return newer as T;
}

async function rename<T extends KubeObject>(
  context: WriteContext,
  ref: ResourceRef<T>,
  object: T,
  options: { patch: Patch; to: T; taken: () => CFError },
): Promise<T> {
  const { cache, signal, now, platformClient } = context;
  const asked: AccessAttributes = { verb: "patch", on: ref, ...objectKey(object) };
  await authorizeWrite(context, asked);
  await requirePolicy(context, asked, { object, patch: options.patch });
  const before = claimedName(cache, ref, object);
  const claim = await acquireClaim({ client: platformClient, cache, signal, now }, ref, options.to, options.taken);
  try {
    const made = await patchObject(context, ref, object, options.patch);
    if (claim?.resourceVersion) {
      const previousClaim = findClaimOf(cache, before, ref, object);
      if (previousClaim) await releaseClaim(platformClient, previousClaim);
      await context.peers.publishWrites(toClaimMarks(claim));
    }
    return made;
  } catch (error) {
    await claim?.release();
    throw error;
  }
}

async function move<T extends KubeObject>(
  context: WriteContext,
  ref: ResourceRef<T>,
  object: T,
  { draft, taken }: { draft: Draft; taken: () => CFError },
): Promise<T> {
  const { cache, signal, now, callerClient, platformClient, peers } = context;
  const { namespace = "" } = draft.metadata;
  await authorizeWrite(context, { verb: "create", on: ref, namespace });
  await authorizeWrite(context, { verb: "delete", on: ref, ...objectKey(object) });
  await requirePolicy(context, { verb: "create", on: ref, namespace }, { draft });
  const options = { signal, fieldManager: API_FIELD_MANAGER, dryRun: true };
  await callerClient().create<T>(ref, draft, options);
  const name = claimedName(cache, ref, object);
  const give = (from: KubeObject | Draft, to: KubeObject | Draft): Promise<HeldClaim> =>
    handOverClaim({ client: platformClient, cache, now }, ref, { from, to, name }, taken);
  const claim = await give(object, draft);
  try {
    // Nothing in between that can wait: a crash there loses the object.
    const whole = { ...outlastingRequest(context), policy: NO_POLICY_CHECK };
    await deleteObject(whole, ref, object);
    const moved = await create(whole, ref, draft, taken);
    await peers.publishWrites([...toClaimMarks(claim), toDeletionMark(ref, object)]);
    return moved;
  } catch (error) {
    const returned = await give(draft, object).catch(() => undefined);
    await restore(outlastingRequest(context), ref, object, returned);
    throw error;
  }
}

/** Creates an object again that a failed move may have deleted. Without its claim, too: controllers/claim gives it back once it is stale. */
async function restore(
  context: WriteContext,
  ref: ResourceRef,
  object: KubeObject,
  claim: HeldClaim | undefined,
): Promise<void> {
  const { signal, callerClient, peers } = context;
  const { uid: _uid, resourceVersion: _version, managedFields: _fields, ...metadata } = object.metadata;
  const options = { signal, fieldManager: API_FIELD_MANAGER };
  try {
    const back = await retryWhile(
      () => callerClient().create(ref, { ...object, metadata }, options),
      isRbacDenial,
      signal,
    );
    await peers.publishWrites([...toWriteMarks(ref, back), ...toClaimMarks(claim)]);
  } catch (error) {
    // It was not deleted.
    if (!isAlreadyExists(error)) throw error;
  }
}

/** For writes that belong together: a client that leaves, or the request's deadline, must not stop them halfway. */
function outlastingRequest(context: WriteContext): WriteContext {
  return { ...context, signal: AbortSignal.timeout(OUTLASTING_MS) };
}

async function remove(context: WriteContext, ref: ResourceRef, object: KubeObject): Promise<void> {
  const { cache, platformClient, peers } = context;
  const claim = findClaimOf(cache, claimedName(cache, ref, object), ref, object);
  await deleteObject(context, ref, object);
  await peers.publishWrites([toDeletionMark(ref, object)]);
  // A terminating object keeps its name; its finalizing controller releases the claim. A look-up by key needs only the object's namespace to be synced.
  if (!claim || cache.store(ref).find(objectKey(object))?.metadata.uid === (object.metadata.uid ?? "")) return;
  // A controller may have released it first; replicas must observe that deletion as well.
  if (await releaseClaim(platformClient, claim)) await peers.publishWrites(toClaimDeletionMarks(claim));
}

/** An object that is gone already counts as deleted. */
async function deleteObject(context: WriteContext, ref: ResourceRef, object: KubeObject): Promise<void> {
  const { signal, callerClient } = context;
  const asked: AccessAttributes = { verb: "delete", on: ref, ...objectKey(object) };
  context.reportUndeclared(asked);
  const { uid = "" } = object.metadata;
  try {
    await retryWhile(
      () => callerClient().delete(ref, objectKey(object), { signal, preconditions: { uid } }),
      (error) => isRbacDenial(error) && context.allows(asked),
      signal,
    );
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

function toDeletionMark(ref: ResourceRef, { metadata }: KubeObject): WriteMark {
  const { uid = "", namespace, resourceVersion = "" } = metadata;
  return { resource: resourceId(ref), namespace, version: resourceVersion, gone: uid };
}

function nameTakenError(): CFError {
  return new CFError("UnprocessableEntity", "The name is taken.");
}

function hasResourceVersion(patch: Patch): boolean {
  return (
    patch.type !== "json" &&
    (patch.body["metadata"] as { resourceVersion?: string } | undefined)?.resourceVersion !== undefined
  );
}

function toWriteMarks(ref: ResourceRef, { metadata: { namespace, resourceVersion } }: KubeObject): WriteMark[] {
  return resourceVersion ? [{ resource: resourceId(ref), namespace, version: resourceVersion }] : [];
}

function toClaimMarks(claim: HeldClaim | undefined): WriteMark[] {
  return claim?.resourceVersion
    ? [{ resource: resourceId(Claim), namespace: SYSTEM_NAMESPACE, version: claim.resourceVersion }]
    : [];
}

/** Claims decide which space owns a host, so every replica must observe the deletion before it is answered. */
function toClaimDeletionMarks({ metadata: { uid, resourceVersion } }: Claim): WriteMark[] {
  return uid && resourceVersion
    ? [{ resource: resourceId(Claim), namespace: SYSTEM_NAMESPACE, version: resourceVersion, gone: uid }]
    : [];
}
