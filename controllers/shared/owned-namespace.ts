// Namespaces of orgs and spaces: their names, their labels, their end. A namespace is never a pruned child: it goes only by name, here.
import { LABELS } from "../../crds/labels.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { backoffDelay, createNap } from "../../kube/client/backoff.ts";
import { Namespace } from "../../kube/api/builtin.ts";
import { isAlreadyExists, isConflict, isUnreachable, KubeError } from "../../kube/client/errors.ts";
import { NotReady, type ReconcileContext } from "../../kube/controller/controller.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ObjectOf, ResourceRef } from "../../kube/api/resource-ref.ts";
import { removeAll } from "./history-limits.ts";

export type NamespaceObject = ObjectOf<typeof Namespace>;

/** Longest part of a namespace's name that comes from one object's name. */
const PART = 24;

/** For what has no other chance, while the server does not answer. */
const ASKING = { minMs: 1000, maxMs: 30_000, jitter: 0 };

/** Labels and annotations that a namespace of ours carries; undefined removes one. */
export interface NamespaceMeta {
  labels: Readonly<Record<string, string | undefined>>;
  annotations: Readonly<Record<string, string | undefined>>;
}

/** Namespaces that nobody gets from us. */
export function isReservedNamespace(name: string): boolean {
  return name === "default" || name === SYSTEM_NAMESPACE || /^(kube|cupola)(-|$)/.test(name);
}

/**
 * The namespace of an object with this uid: the one that carries its uid, else a new name from the parts. Five characters of the
 * uid are added when a part was cut, the name is reserved, or `isForeign` says that somebody else has it.
 */
export function planNamespaceName(uid: string, parts: readonly string[], owned: readonly NamespaceObject[], isForeign: (name: string) => boolean): string {
  const own = owned.map((namespace) => namespace.metadata.name).toSorted()[0];
  if (own !== undefined) return own;
  const plain = parts.map((part) => part.slice(0, PART).replace(/-+$/, "")).join("-");
  const isPlain = parts.every((part) => part.length <= PART);
  return isPlain && !isReservedNamespace(plain) && !isForeign(plain) ? plain : withUid(plain, uid);
}

function withUid(plain: string, uid: string): string {
  return `${plain}-${uid.replaceAll("-", "").slice(0, 5)}`;
}

/** Who has a namespace: an Org or a Space. */
export interface Owner {
  ref: ResourceRef;
  object: KubeObject;
}

const ownedBy = ({ metadata }: KubeObject): { labels: Record<string, string> } => ({ labels: { [LABELS.ownerUid]: metadata.uid ?? "" } });

/** Whether the owner has a namespace already, as seen. */
export function hasNamespace(owner: KubeObject, { read }: Pick<ReconcileContext, "read">): boolean {
  return read.list(Namespace, ownedBy(owner)).length > 0;
}

/** Creates the namespace, or corrects what it carries; nothing is written when it is right. Returns its name. */
export async function keepNamespace(owner: Owner, parts: readonly string[], meta: NamespaceMeta, context: ReconcileContext): Promise<string> {
  const uid = owner.object.metadata.uid ?? "";
  const owned = context.read.list(Namespace, ownedBy(owner.object));
  const isForeign = (name: string): boolean => {
    const seen = context.read.find(Namespace, { name });
    return seen !== undefined && seen.metadata.labels?.[LABELS.ownerUid] !== uid;
  };
  const name = planNamespaceName(uid, parts, owned, isForeign);
  const full = withOwner(meta, owner.object);
  const seen = context.read.find(Namespace, { name });
  if (seen) return await correct(seen, full, context);
  const made = (await create(name, full, context)) ?? (await createElsewhere(uid, name, full, context));
  await requireOwner(owner, context, () => removeAll(context.client, Namespace, [made]));
  return made.metadata.name;
}

/**
 * Gives a namespace that exists already what a namespace of ours carries, if it is still as it was judged. `release` takes it away again.
 * @throws KubeError 409 when somebody else was quicker
 */
export async function adoptNamespace(owner: Owner, seen: NamespaceObject, { meta, release }: { meta: NamespaceMeta; release: () => Promise<void> }, context: ReconcileContext): Promise<string> {
  const name = await correct(seen, withOwner(meta, owner.object), context, seen.metadata.resourceVersion);
  if (seen.metadata.labels?.[LABELS.ownerUid] === undefined) await requireOwner(owner, context, release);
  return name;
}

const withOwner = (meta: NamespaceMeta, owner: KubeObject): NamespaceMeta => ({ ...meta, labels: { ...meta.labels, ...ownedBy(owner).labels } });

/**
 * Whoever ended the owner meanwhile has looked for its namespaces already: what was made after that has to be undone by who made it.
 * Asked until the server has answered, or this process stops: the next reconcile sees the namespace and does not ask, and there may be none.
 */
async function requireOwner(owner: Owner, context: ReconcileContext, undo: () => Promise<void>): Promise<void> {
  for (let failures = 1; ; failures++) {
    try {
      return await askForOwner(owner, context, { undo, isLate: failures > 1 });
    } catch (error) {
      if (context.signal.aborted || !isPassing(error)) throw error;
      context.log.warn({ err: error }, "it cannot be told whether the owner of a new namespace is still there; asked again");
      await createNap().sleep(backoffDelay(ASKING, failures, 0), context.signal);
    }
  }
}

async function askForOwner({ ref, object: { metadata } }: Owner, { client }: ReconcileContext, { undo, isLate }: { undo: () => Promise<void>; isLate: boolean }): Promise<void> {
  const live = await client.find(ref, metadata);
  const isThere = live?.metadata.uid === metadata.uid;
  if (isThere && !live?.metadata.deletionTimestamp) return;
  // By then others may have filled it. As long as the owner is there, its end finds both, and in order.
  if (!isThere || !isLate) await undo();
  throw new NotReady("Deleted", `${ref.kind} ${metadata.name} has been deleted`);
}

/** No answer, one of a server that is not well, or of one where something else has changed meanwhile. */
function isPassing(error: unknown): boolean {
  return isUnreachable(error) || isConflict(error) || (error instanceof KubeError && (error.code === 429 || error.code >= 500));
}

async function correct(seen: NamespaceObject, meta: NamespaceMeta, { client }: ReconcileContext, resourceVersion?: string): Promise<string> {
  const { name } = seen.metadata;
  if (seen.metadata.deletionTimestamp) throw new NotReady("NamespaceTerminating", `namespace ${name} is being deleted; it is made again when it is gone`);
  if (isRight(seen, meta)) return name;
  const body = { metadata: { labels: toMerge(meta.labels), annotations: toMerge(meta.annotations), ...(resourceVersion && { resourceVersion }) } };
  await client.patch(Namespace, { name }, { type: "merge", body });
  return name;
}

export function isRight(seen: NamespaceObject, meta: NamespaceMeta): boolean {
  const holds = (have: Record<string, string> | undefined, want: Readonly<Record<string, string | undefined>>): boolean =>
    Object.entries(want).every(([key, value]) => have?.[key] === value);
  return holds(seen.metadata.labels, meta.labels) && holds(seen.metadata.annotations, meta.annotations);
}

function toMerge(values: Readonly<Record<string, string | undefined>>): Record<string, string | null> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, value ?? null]));
}

/** undefined when somebody else has the name. */
async function create(name: string, meta: NamespaceMeta, { client }: ReconcileContext): Promise<NamespaceObject | undefined> {
  const given = (values: Readonly<Record<string, string | undefined>>): Record<string, string> =>
    Object.fromEntries(Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined));
  try {
    return await client.create(Namespace, { metadata: { name, labels: given(meta.labels), annotations: given(meta.annotations) } });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const live = await client.find(Namespace, { name });
    return live?.metadata.labels?.[LABELS.ownerUid] === meta.labels[LABELS.ownerUid] ? live : undefined;
  }
}

async function createElsewhere(uid: string, name: string, meta: NamespaceMeta, context: ReconcileContext): Promise<NamespaceObject> {
  const other = withUid(name, uid);
  const made = name.endsWith(other.slice(-6)) ? undefined : await create(other, meta, context);
  if (made === undefined) throw new NotReady("NamespaceTaken", `namespaces ${name} and ${other} belong to somebody else`, { requeueAfterMs: 30_000 });
  return made;
}

/**
 * The namespace as the server has it; undefined when it is not the owner's any more, whatever the cache shows. To be asked after one has
 * looked at what is in it and before anything of that is deleted: what was there while the namespace was the owner's is the owner's, too.
 */
export async function findOwned(owner: KubeObject, { metadata: { name, uid } }: NamespaceObject, { client }: ReconcileContext): Promise<NamespaceObject | undefined> {
  const live = await client.find(Namespace, { name });
  return live?.metadata.uid === uid && live?.metadata.labels?.[LABELS.ownerUid] === owner.metadata.uid ? live : undefined;
}

/** Ends every namespace of an owner that is being deleted; `end` asks findOwned first, and throws NotReady while one is not done. */
export async function endNamespaces(owner: KubeObject, end: (namespace: NamespaceObject) => Promise<void>, { read, client }: ReconcileContext): Promise<void> {
  for (const namespace of read.list(Namespace, ownedBy(owner))) await end(namespace);
  // Nobody looks for them again: the server is asked for what a silent watch may have kept from us.
  for (const namespace of (await client.list(Namespace, { labelSelector: `${LABELS.ownerUid}=${owner.metadata.uid}` })).items) await end(namespace);
}

/** Deletes the namespace as it was seen and waits until it is gone. @throws NotReady always: it is gone when it is not found any more */
export async function endNamespace(namespace: NamespaceObject, { client }: ReconcileContext): Promise<never> {
  const { name, deletionTimestamp } = namespace.metadata;
  if (!deletionTimestamp) await removeAll(client, Namespace, [namespace]);
  // Its watch wakes us; the clock is for one that went before it was seen at all.
  throw new NotReady("NamespaceTerminating", `waiting until namespace ${name} is gone`, { requeueAfterMs: 1000 });
}
