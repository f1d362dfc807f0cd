// Namespaces of orgs and spaces: their names, their labels, their end. A namespace is never a pruned child: it goes only by name, here.
import { LABELS } from "../crds/labels.ts";
import { SYSTEM_NAMESPACE } from "../crds/groups.ts";
import { Namespace } from "../kube/builtin.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../kube/client/errors.ts";
import { NotReady, type ReconcileContext } from "../kube/controller.ts";
import type { KubeObject } from "../kube/object.ts";
import type { ObjectOf } from "../kube/resource-ref.ts";

export type NamespaceObject = ObjectOf<typeof Namespace>;

/** Longest part of a namespace's name that comes from one object's name. */
const PART = 24;

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
  const plain = parts.map((part) => part.slice(0, PART).replace(/[-.]+$/, "").replaceAll(".", "-")).join("-");
  const isPlain = parts.every((part) => part.length <= PART && !part.includes("."));
  return isPlain && !isReservedNamespace(plain) && !isForeign(plain) ? plain : withUid(plain, uid);
}

function withUid(plain: string, uid: string): string {
  return `${plain}-${uid.replaceAll("-", "").slice(0, 5)}`;
}

/** Creates the namespace, or corrects what it carries; nothing is written when it is right. Returns its name. */
export async function keepNamespace(owner: KubeObject, parts: readonly string[], meta: NamespaceMeta, context: ReconcileContext): Promise<string> {
  const uid = owner.metadata.uid ?? "";
  const owned = context.read.list(Namespace, { labels: { [LABELS.ownerUid]: uid } });
  const isForeign = (name: string): boolean => {
    const seen = context.read.find(Namespace, { name });
    return seen !== undefined && seen.metadata.labels?.[LABELS.ownerUid] !== uid;
  };
  const name = planNamespaceName(uid, parts, owned, isForeign);
  const full: NamespaceMeta = { ...meta, labels: { ...meta.labels, [LABELS.ownerUid]: uid } };
  const seen = context.read.find(Namespace, { name });
  if (seen) return await correct(seen, full, context);
  return (await create(name, full, context)) ?? (await createElsewhere(uid, name, full, context));
}

async function correct(seen: NamespaceObject, meta: NamespaceMeta, { client }: ReconcileContext): Promise<string> {
  const { name } = seen.metadata;
  if (seen.metadata.deletionTimestamp) throw new NotReady("NamespaceTerminating", `namespace ${name} is being deleted; it is made again when it is gone`);
  if (isRight(seen, meta)) return name;
  const body = { metadata: { labels: toMerge(meta.labels), annotations: toMerge(meta.annotations) } };
  await client.patch(Namespace, { name }, { type: "merge", body });
  return name;
}

/** Gives a namespace that exists already what a namespace of ours carries. */
export async function labelNamespace(seen: NamespaceObject, meta: NamespaceMeta, context: ReconcileContext): Promise<string> {
  return await correct(seen, meta, context);
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
async function create(name: string, meta: NamespaceMeta, { client }: ReconcileContext): Promise<string | undefined> {
  const given = (values: Readonly<Record<string, string | undefined>>): Record<string, string> =>
    Object.fromEntries(Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined));
  try {
    await client.create(Namespace, { metadata: { name, labels: given(meta.labels), annotations: given(meta.annotations) } });
    return name;
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const live = await client.find(Namespace, { name });
    return live?.metadata.labels?.[LABELS.ownerUid] === meta.labels[LABELS.ownerUid] ? name : undefined;
  }
}

async function createElsewhere(uid: string, name: string, meta: NamespaceMeta, context: ReconcileContext): Promise<string> {
  const other = withUid(name, uid);
  const made = name.endsWith(other.slice(-6)) ? undefined : await create(other, meta, context);
  if (made === undefined) throw new NotReady("NamespaceTaken", `namespaces ${name} and ${other} belong to somebody else`, { requeueAfterMs: 30_000 });
  return made;
}

/** Deletes the namespace and waits (NotReady) until it is gone. Only one that carries the owner's uid. */
export async function endNamespace(name: string, owner: KubeObject, { read, client }: ReconcileContext): Promise<void> {
  const seen = read.find(Namespace, { name });
  if (!seen || seen.metadata.labels?.[LABELS.ownerUid] !== owner.metadata.uid) return;
  if (!seen.metadata.deletionTimestamp) {
    try {
      await client.delete(Namespace, { name }, { preconditions: { uid: seen.metadata.uid } });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }
  throw new NotReady("NamespaceTerminating", `waiting until namespace ${name} is gone`);
}
