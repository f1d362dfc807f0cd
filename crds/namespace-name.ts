// How the namespace of an Org or a Space is named. Pure.
import type { KubeObject } from "../kube/api/object.ts";
import { SYSTEM_NAMESPACE } from "./groups.ts";

/** Longest part of a namespace's name that comes from one object's name. */
const MAX_PART_LENGTH = 24;

/** Namespaces that no Org or Space may have. */
export function isReservedNamespace(name: string): boolean {
  return name === "default" || name === SYSTEM_NAMESPACE || /^(kube|cupola)(-|$)/.test(name);
}

/**
 * The namespace of an object with this uid: the one that carries its uid, else a new name from the parts. Five characters of the
 * uid are added when a part was cut, the name is reserved, or `isForeign` says that somebody else has it.
 */
export function planNamespaceName(
  uid: string,
  parts: readonly string[],
  owned: readonly Pick<KubeObject, "metadata">[],
  isForeign: (name: string) => boolean,
): string {
  const own = owned.map((namespace) => namespace.metadata.name).toSorted()[0];
  if (own !== undefined) return own;
  const base = parts.map((part) => part.slice(0, MAX_PART_LENGTH).replace(/-+$/, "")).join("-");
  const isUncut = parts.every((part) => part.length <= MAX_PART_LENGTH);
  return isUncut && !isReservedNamespace(base) && !isForeign(base) ? base : withUidSuffix(base, uid);
}

/** The name with five characters of the uid, for a base that somebody else has. */
export function withUidSuffix(base: string, uid: string): string {
  return `${base}-${uid.replaceAll("-", "").slice(0, 5)}`;
}
