// Namespaces of orgs and spaces: their labels and their end. Their names are planned in crds/namespace-name.ts. A namespace is never a pruned child: it goes only by name, here.
import { LABELS } from "../../crds/labels.ts";
import { planNamespaceName, withUidSuffix } from "../../crds/namespace-name.ts";
import { backoffDelay } from "../../kube/client/backoff.ts";
import { createSleeper } from "../../kube/client/sleeper.ts";
import { Namespace } from "../../kube/api/builtin.ts";
import { isAlreadyExists, isConflict, isUnreachable, KubeError } from "../../kube/client/errors.ts";
import { NotReady, type ReconcileContext } from "../../kube/controller/controller.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ObjectOf, ResourceRef } from "../../kube/api/resource-ref.ts";
import { deleteAll } from "./history-limits.ts";

export type NamespaceObject = ObjectOf<typeof Namespace>;

/** For what has no other chance, while the server does not answer. */
const OWNER_CHECK_BACKOFF = { minMs: 1000, maxMs: 30_000, jitter: 0 };

/** Labels and annotations that a namespace of ours carries; undefined removes one. */
export interface NamespaceMetadata {
  labels: Readonly<Record<string, string | undefined>>;
  annotations: Readonly<Record<string, string | undefined>>;
}

/** Who has a namespace: an Org or a Space. */
export interface NamespaceOwner {
  ref: ResourceRef;
  object: KubeObject;
}

const ownerSelector = ({ metadata }: KubeObject): { labels: Record<string, string> } => ({
  labels: { [LABELS.ownerUid]: metadata.uid ?? "" },
});

/** Whether the owner has a namespace already, as seen. */
export function hasNamespace(owner: KubeObject, { read }: Pick<ReconcileContext, "read">): boolean {
  return read.list(Namespace, ownerSelector(owner)).length > 0;
}

/** Creates the namespace, or corrects what it carries; nothing is written when it is right. Returns its name. */
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
 * Gives a namespace that exists already what a namespace of ours carries, if it is still as it was judged. `release` takes it away again.
 * @throws KubeError 409 when somebody else was quicker
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
 * Whoever ended the owner meanwhile has looked for its namespaces already: what was made after that has to be undone by who made it.
 * Asked until the server has answered, or this process stops: the next reconcile sees the namespace and does not ask, and there may be none.
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
  // By then others may have filled it. As long as the owner is there, its end finds both, and in order.
  if (!exists || !isLate) await undo();
  throw new NotReady("Deleted", `${ref.kind} ${metadata.name} has been deleted`);
}

/** No answer, one of a server that is not well, or of one where something else has changed meanwhile. */
function isTransient(error: unknown): boolean {
  return (
    isUnreachable(error) ||
    isConflict(error) ||
    (error instanceof KubeError && (error.code === 429 || error.code >= 500))
  );
}

async function updateMetadata(
  cached: NamespaceObject,
  meta: NamespaceMetadata,
  { client }: ReconcileContext,
  resourceVersion?: string,
): Promise<string> {
  const { name } = cached.metadata;
  if (cached.metadata.deletionTimestamp)
    throw new NotReady("NamespaceTerminating", `namespace ${name} is being deleted; it is made again when it is gone`);
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

function toMergePatch(values: Readonly<Record<string, string | undefined>>): Record<string, string | null> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, value ?? null]));
}

/** undefined when somebody else has the name. */
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
 * The namespace as the server has it; undefined when it is not the owner's any more, whatever the cache shows. To be asked after one has
 * looked at what is in it and before anything of that is deleted: what was there while the namespace was the owner's is the owner's, too.
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

/** Ends every namespace of an owner that is being deleted; `end` asks findOwned first, and throws NotReady while one is not done. */
export async function finalizeNamespaces(
  owner: KubeObject,
  finalizeNamespace: (namespace: NamespaceObject) => Promise<void>,
  { read, client }: ReconcileContext,
): Promise<void> {
  for (const namespace of read.list(Namespace, ownerSelector(owner))) await finalizeNamespace(namespace);
  // Nobody looks for them again: the server is asked for what a silent watch may have kept from us.
  for (const namespace of (await client.list(Namespace, { labelSelector: `${LABELS.ownerUid}=${owner.metadata.uid}` }))
    .items)
    await finalizeNamespace(namespace);
}

/** Deletes the namespace as it was seen and waits until it is gone. @throws NotReady always: it is gone when it is not found any more */
export async function deleteNamespace(namespace: NamespaceObject, { client }: ReconcileContext): Promise<never> {
  const { name, deletionTimestamp } = namespace.metadata;
  if (!deletionTimestamp) await deleteAll(client, Namespace, [namespace]);
  // Its watch wakes us; the clock is for one that went before it was seen at all.
  throw new NotReady("NamespaceTerminating", `waiting until namespace ${name} is gone`, { requeueAfterMs: 1000 });
}
