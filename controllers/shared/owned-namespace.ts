// Namespaces of orgs and spaces: their labels and deletion. crds/namespace-name.ts plans their names. A namespace is never pruned as a child: only this file deletes one, by name.
import { LABELS } from "../../crds/labels.ts";
import { planNamespaceName, withUidSuffix } from "../../crds/namespace-name.ts";
import { isMirroredKey } from "../../crds/space/namespace-labels.ts";
import { backoffDelay } from "../../kube/client/backoff.ts";
import { createSleeper } from "../../kube/client/sleeper.ts";
import { Namespace } from "../../kube/api/builtin.ts";
import { isAlreadyExists, isConflict, isUnreachable, KubeError } from "../../kube/client/errors.ts";
import { type FinalizeResult, NotReady, type ReconcileContext } from "../../kube/controller/controller.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ObjectOf, ResourceRef } from "../../kube/api/resource-ref.ts";
import { deleteAll } from "./history-limits.ts";

export type NamespaceObject = ObjectOf<typeof Namespace>;

/** Retry delay of writes that no later reconcile would repeat. */
const OWNER_CHECK_BACKOFF = { minMs: 1000, maxMs: 30_000, jitter: 0 };

/** Labels and annotations of an owned namespace; undefined removes one. */
export interface NamespaceMetadata {
  labels: Readonly<Record<string, string | undefined>>;
  annotations: Readonly<Record<string, string | undefined>>;
}

/** The owner of a namespace: an Org or a Space. */
export interface NamespaceOwner {
  ref: ResourceRef;
  object: KubeObject;
}

const ownerSelector = ({ metadata }: KubeObject): { labels: Record<string, string> } => ({
  labels: { [LABELS.ownerUid]: metadata.uid ?? "" },
});

/** Whether the cache has a namespace of this owner. */
export function hasNamespace(owner: KubeObject, { read }: Pick<ReconcileContext, "read">): boolean {
  return read.list(Namespace, ownerSelector(owner)).length > 0;
}

/** Creates the namespace, or corrects its labels and annotations; writes nothing when they are right. Returns its name. */
export async function ensureNamespace(
  owner: NamespaceOwner,
  parts: readonly string[],
  meta: NamespaceMetadata,
  context: ReconcileContext,
): Promise<string> {
  const uid = owner.object.metadata.uid ?? "";
  const owned = context.read.list(Namespace, ownerSelector(owner.object));
  const isForeign = (name: string): boolean => {
    const cached = context.read.find(Namespace, { name });
    return cached !== undefined && cached.metadata.labels?.[LABELS.ownerUid] !== uid;
  };
  const name = planNamespaceName(uid, parts, owned, isForeign);
  const metadata = withOwnerLabel(meta, owner.object);
  const cached = context.read.find(Namespace, { name });
  if (cached) return await updateMetadata(cached, metadata, context);
  const created =
    (await createNamespace(name, metadata, context)) ?? (await createWithSuffix(uid, name, metadata, context));
  await verifyOwner(owner, context, () => deleteAll(context.client, Namespace, [created]));
  return created.metadata.name;
}

/**
 * Adds our labels and annotations to an existing namespace, unless it has changed since it was checked. `release` removes them.
 * @throws KubeError 409 when it has changed
 */
export async function adoptNamespace(
  owner: NamespaceOwner,
  cached: NamespaceObject,
  { meta, release }: { meta: NamespaceMetadata; release: () => Promise<void> },
  context: ReconcileContext,
): Promise<string> {
  const name = await updateMetadata(
    cached,
    withOwnerLabel(meta, owner.object),
    context,
    cached.metadata.resourceVersion,
  );
  if (cached.metadata.labels?.[LABELS.ownerUid] === undefined) await verifyOwner(owner, context, release);
  return name;
}

const withOwnerLabel = (meta: NamespaceMetadata, owner: KubeObject): NamespaceMetadata => ({
  ...meta,
  labels: { ...meta.labels, ...ownerSelector(owner).labels },
});

/**
 * The owner's deletion may have finished before the namespace was created, so its creator must check and undo.
 * Retried until the server answers or this process stops: the next reconcile finds the namespace and does not check, or never runs.
 */
async function verifyOwner(owner: NamespaceOwner, context: ReconcileContext, undo: () => Promise<void>): Promise<void> {
  for (let failures = 1; ; failures++) {
    try {
      return await verifyOwnerOnce(owner, context, { undo, isLate: failures > 1 });
    } catch (error) {
      if (context.signal.aborted || !isTransient(error)) throw error;
      context.log.warn(
        { err: error },
        "it cannot be told whether the owner of a new namespace is still there; asked again",
      );
      await createSleeper().sleep(backoffDelay(OWNER_CHECK_BACKOFF, failures, 0), context.signal);
    }
  }
}

async function verifyOwnerOnce(
  { ref, object: { metadata } }: NamespaceOwner,
  { client }: ReconcileContext,
  { undo, isLate }: { undo: () => Promise<void>; isLate: boolean },
): Promise<void> {
  const live = await client.find(ref, metadata);
  const exists = live?.metadata.uid === metadata.uid;
  if (exists && !live?.metadata.deletionTimestamp) return;
  // The namespace may have contents by then. While the owner exists, its own deletion removes both in order.
  if (!exists || !isLate) await undo();
  throw new NotReady("Deleted", `${ref.kind} ${metadata.name} has been deleted`);
}

/** No answer, a server error, or a conflict. */
function isTransient(error: unknown): boolean {
  return (
    isUnreachable(error) ||
    isConflict(error) ||
    (error instanceof KubeError && (error.code === 429 || error.code >= 500))
  );
}

/** A mirrored label goes with the label that it mirrors. */
const withoutStaleMirrors = (meta: NamespaceMetadata, { metadata }: NamespaceObject): NamespaceMetadata => ({
  ...meta,
  labels: { ...noMirrors(metadata.labels), ...meta.labels },
});

/** The mirrored ones of these labels, to be removed. */
export function noMirrors(labels: Readonly<Record<string, string>> = {}): Record<string, undefined> {
  return Object.fromEntries(
    Object.keys(labels)
      .filter(isMirroredKey)
      .map((key) => [key, undefined]),
  );
}

async function updateMetadata(
  cached: NamespaceObject,
  desired: NamespaceMetadata,
  { client }: ReconcileContext,
  resourceVersion?: string,
): Promise<string> {
  const { name } = cached.metadata;
  if (cached.metadata.deletionTimestamp)
    throw new NotReady("NamespaceTerminating", `namespace ${name} is being deleted; it is made again when it is gone`);
  const meta = withoutStaleMirrors(desired, cached);
  if (hasMetadata(cached, meta)) return name;
  const body = {
    metadata: {
      labels: toMergePatch(meta.labels),
      annotations: toMergePatch(meta.annotations),
      ...(resourceVersion && { resourceVersion }),
    },
  };
  await client.patch(Namespace, { name }, { type: "merge", body });
  return name;
}

export function hasMetadata(cached: NamespaceObject, meta: NamespaceMetadata): boolean {
  const includes = (
    actual: Record<string, string> | undefined,
    desired: Readonly<Record<string, string | undefined>>,
  ): boolean => Object.entries(desired).every(([key, value]) => actual?.[key] === value);
  return includes(cached.metadata.labels, meta.labels) && includes(cached.metadata.annotations, meta.annotations);
}

export function toMergePatch(values: Readonly<Record<string, string | undefined>>): Record<string, string | null> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, value ?? null]));
}

/** Returns undefined when another object has the name. */
async function createNamespace(
  name: string,
  meta: NamespaceMetadata,
  { client }: ReconcileContext,
): Promise<NamespaceObject | undefined> {
  const withoutUndefined = (values: Readonly<Record<string, string | undefined>>): Record<string, string> =>
    Object.fromEntries(Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined));
  try {
    return await client.create(Namespace, {
      metadata: { name, labels: withoutUndefined(meta.labels), annotations: withoutUndefined(meta.annotations) },
    });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const live = await client.find(Namespace, { name });
    return live?.metadata.labels?.[LABELS.ownerUid] === meta.labels[LABELS.ownerUid] ? live : undefined;
  }
}

async function createWithSuffix(
  uid: string,
  name: string,
  meta: NamespaceMetadata,
  context: ReconcileContext,
): Promise<NamespaceObject> {
  const suffixedName = withUidSuffix(name, uid);
  const made = name.endsWith(suffixedName.slice(-6)) ? undefined : await createNamespace(suffixedName, meta, context);
  if (made === undefined)
    throw new NotReady("NamespaceTaken", `namespaces ${name} and ${suffixedName} belong to somebody else`, {
      isFailure: true,
      requeueAfterMs: 30_000,
    });
  return made;
}

/**
 * The namespace, read live; undefined when it no longer belongs to the owner. Call it after listing the contents and before deleting any of
 * them: contents that were listed while the namespace was the owner's belong to the owner, too.
 */
export async function findOwnedNamespace(
  owner: KubeObject,
  { metadata: { name, uid } }: NamespaceObject,
  { client }: ReconcileContext,
): Promise<NamespaceObject | undefined> {
  const live = await client.find(Namespace, { name });
  return live?.metadata.uid === uid && live?.metadata.labels?.[LABELS.ownerUid] === owner.metadata.uid
    ? live
    : undefined;
}

/** Finalizes the namespaces of an owner under deletion, one after the other. `finalizeNamespace` must call findOwnedNamespace before it deletes. */
export async function finalizeNamespaces(
  owner: KubeObject,
  finalizeNamespace: (namespace: NamespaceObject) => Promise<FinalizeResult>,
  { read, client }: ReconcileContext,
): Promise<FinalizeResult> {
  const finalizeAll = async (namespaces: readonly NamespaceObject[]): Promise<FinalizeResult> => {
    for (const namespace of namespaces) {
      const waiting = await finalizeNamespace(namespace);
      if (waiting) return waiting;
    }
    return undefined;
  };
  const waiting = await finalizeAll(read.list(Namespace, ownerSelector(owner)));
  if (waiting) return waiting;
  // This is the last check, so it lists live: a stalled watch may have missed a namespace.
  const live = await client.list(Namespace, { labelSelector: `${LABELS.ownerUid}=${owner.metadata.uid}` });
  return await finalizeAll(live.items);
}

/** Deletes this version of the namespace. It waits until a later pass finds no namespace. */
export async function deleteNamespace(
  namespace: NamespaceObject,
  { client }: ReconcileContext,
): Promise<FinalizeResult> {
  const { name, deletionTimestamp } = namespace.metadata;
  if (!deletionTimestamp) await deleteAll(client, Namespace, [namespace]);
  // The watch enqueues the owner; the delay covers a namespace that was gone before the watch saw it.
  const message = `waiting until namespace ${name} is gone${describeRemaining(namespace)}`;
  return { ready: { status: "False", reason: "NamespaceTerminating", message }, requeueAfterMs: 1000 };
}

/** Length of what a condition says of a namespace's contents; there may be many kinds. */
const MAX_REMAINING = 512;

/** As Kubernetes says it: the kinds of objects that are left, such as Secrets, and the finalizers that hold them. */
function describeRemaining({ status }: NamespaceObject): string {
  const held = (status?.conditions ?? []).filter((condition) => condition.status === "True");
  const texts = held.flatMap(({ message }) => message ?? []);
  return texts.length === 0 ? "" : `: ${texts.join("; ").slice(0, MAX_REMAINING)}`;
}
