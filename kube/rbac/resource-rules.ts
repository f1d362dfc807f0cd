// Permissions as the fewest RBAC rules. Pure.
import type { ResourceRef } from "../api/resource-ref.ts";

export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete" | "bind";

/** Verbs on a kind, or on a subresource of it; with `names`, on objects of these names only. */
export interface Permission {
  resource: Pick<ResourceRef, "group" | "plural">;
  subresource?: string;
  verbs: readonly Verb[];
  names?: readonly string[];
}

/** `rules[]` of a ClusterRole or Role. */
export interface ResourceRule {
  apiGroups: string[];
  resources: string[];
  resourceNames?: string[];
  verbs: string[];
}

const VERB_ORDER: readonly string[] = ["get", "list", "watch", "create", "update", "patch", "delete", "bind"];

/** The fewest rules that grant exactly these permissions, in a stable order. */
export function toResourceRules(permissions: readonly Permission[]): ResourceRule[] {
  const grouped = groupByResource(permissions);
  const merged = new Map<string, ResourceRule>();
  for (const { group, resource, names, verbs } of [...grouped.values()].sort((a, b) =>
    compare(`${a.group} ${a.resource}`, `${b.group} ${b.resource}`),
  )) {
    const allowed = withoutRedundantVerbs([...verbs], names, grouped.get(JSON.stringify([group, resource, []]))?.verbs);
    if (allowed.length === 0) continue;
    const sorted = allowed.sort((a, b) => VERB_ORDER.indexOf(a) - VERB_ORDER.indexOf(b));
    const key = JSON.stringify([group, sorted, names]);
    const rule = merged.get(key) ?? {
      apiGroups: [group],
      resources: [],
      ...(names.length > 0 && { resourceNames: names }),
      verbs: sorted,
    };
    rule.resources.push(resource);
    merged.set(key, rule);
  }
  return [...merged.values()];
}

interface GroupedVerbs {
  group: string;
  resource: string;
  names: string[];
  verbs: Set<string>;
}

/** All verbs on one resource, or on the same names of it. */
function groupByResource(permissions: readonly Permission[]): Map<string, GroupedVerbs> {
  const grouped = new Map<string, GroupedVerbs>();
  for (const { resource: on, subresource, verbs, names = [] } of permissions) {
    const resource = subresource ? `${on.plural}/${subresource}` : on.plural;
    const sorted = [...names].sort();
    const key = JSON.stringify([on.group, resource, sorted]);
    const entry = grouped.get(key) ?? { group: on.group, resource, names: sorted, verbs: new Set() };
    for (const verb of verbs) entry.verbs.add(verb);
    grouped.set(key, entry);
  }
  return grouped;
}

/** Drops verbs on named objects that are granted on all objects. */
function withoutRedundantVerbs(
  verbs: string[],
  names: readonly string[],
  whole: ReadonlySet<string> | undefined,
): string[] {
  return names.length === 0 || !whole ? verbs : verbs.filter((verb) => !whole.has(verb));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
