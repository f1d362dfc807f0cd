// The identity of a kind: group, version, names, scope, and its object type.
import type { KubeObject } from "./object.ts";

/**
 * A kind, for clients, informers and controllers. A ResourceDefinition is one too.
 * The phantom field `objectType` carries `T`; it is never set.
 */
export interface ResourceRef<T extends KubeObject = KubeObject> {
  /** API group; "" is the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  readonly objectType?: T;
}

/** The object type of a kind: `ObjectOf<typeof Secret>`. */
export type ObjectOf<R> = R extends ResourceRef<infer T> ? T : never;

/** `group/version`, or `version` for the core group. */
export function apiVersionOf(ref: Pick<ResourceRef, "group" | "version">): string {
  return ref.group ? `${ref.group}/${ref.version}` : ref.version;
}

/** Identifies a kind, whatever its version: `plural.group`, or `plural` for the core group. */
export function resourceId(ref: ResourceRef): string {
  return ref.group ? `${ref.plural}.${ref.group}` : ref.plural;
}

/** The URL path of a collection (no name) or of one object, with escaped names. */
export function resourcePath(
  ref: ResourceRef,
  at: { namespace?: string; name?: string; subresource?: string } = {},
): string {
  const parts = ref.group ? ["apis", ref.group, ref.version] : ["api", ref.version];
  if (at.namespace && ref.namespaced) parts.push("namespaces", at.namespace);
  parts.push(ref.plural);
  if (at.name !== undefined) parts.push(at.name);
  if (at.subresource) parts.push(...at.subresource.split("/"));
  return `/${parts.map(encodeURIComponent).join("/")}`;
}
