// The other objects that a template's rules read, from whatever a caller has: caches, files, or a live cluster. Pure.
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { Namespace } from "../../kube/api/builtin.ts";
import { STABLE_LABELS } from "../labels.ts";
import type { TemplateRead } from "./policy-template.ts";
import { findSubject } from "./subjects.ts";

/** Rules that read more objects than this are not decided: their evaluation would hold up other work. */
export const MAX_READ_OBJECTS = 1_000;

/** Lists objects of a kind, in a namespace or with labels. Undefined: they cannot be read now. */
export type ListObjects = (
  ref: ResourceRef,
  filter: { namespace?: string; labels?: Readonly<Record<string, string>> },
) => readonly KubeObject[] | undefined;

/** The objects of a read, without the judged object; or that they are not known. */
export type Refs = (read: TemplateRead) => readonly KubeObject[] | "unknown";

export interface Reading {
  /** The judged object. */
  object: KubeObject;
  /** Labels of its namespace. */
  namespaceLabels: Readonly<Record<string, string>> | undefined;
}

/** The refs of a judged object. */
export function createRefs(list: ListObjects, { object, namespaceLabels = {} }: Reading): Refs {
  return ({ kind, scope }) => {
    const ref = findSubject(kind);
    const found = ref && listInScope(list, ref, scopeOf(scope, object, namespaceLabels));
    const others = found?.filter((one) => !isSame(one, kind, object));
    return others && others.length <= MAX_READ_OBJECTS ? others : "unknown";
  };
}

/** Lists with objects that are about to be written, in place of their stored versions. */
export function withPlanned(list: ListObjects, planned: readonly KubeObject[]): ListObjects {
  return (ref, filter) => {
    const own = planned.filter(
      ({ kind, metadata }) =>
        kind === ref.kind && (filter.namespace === undefined || metadata.namespace === filter.namespace),
    );
    const stored = list(ref, filter);
    return stored && [...stored.filter((one) => !own.some((other) => isSame(one, ref.kind, other))), ...own];
  };
}

type Scope = { namespace: string } | { org: string } | "platform" | undefined;

function scopeOf(
  scope: TemplateRead["scope"],
  { metadata: { namespace } }: KubeObject,
  labels: Readonly<Record<string, string>>,
): Scope {
  if (scope === "platform") return scope;
  if (scope === "space") return namespace === undefined ? undefined : { namespace };
  const org = labels[STABLE_LABELS.orgName];
  return org === undefined ? undefined : { org };
}

function listInScope(list: ListObjects, ref: ResourceRef, scope: Scope): readonly KubeObject[] | undefined {
  if (scope === undefined) return undefined;
  if (scope === "platform") return list(ref, {});
  if ("namespace" in scope) return list(ref, scope);
  const namespaces = list(Namespace, { labels: { [STABLE_LABELS.orgName]: scope.org } });
  const found = namespaces?.map(({ metadata }) => list(ref, { namespace: metadata.name }));
  return found?.every((one) => one !== undefined) ? found.flat() : undefined;
}

function isSame({ metadata }: KubeObject, kind: string, object: KubeObject): boolean {
  return (
    kind === object.kind && metadata.name === object.metadata.name && metadata.namespace === object.metadata.namespace
  );
}
