// What a program must be allowed to do, from what its controllers declare; as RBAC rules. Pure.
import type { Controller } from "./controller.ts";
import type { ResourceRef } from "../api/resource-ref.ts";

export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete" | "bind";

/** Verbs on a kind, or on a subresource of it; with `names`, on objects of these names only. */
export interface Right {
  on: Pick<ResourceRef, "group" | "plural">;
  subresource?: string;
  verbs: readonly Verb[];
  names?: readonly string[];
}

/** `rules[]` of a ClusterRole or Role. */
export interface Rule {
  apiGroups: string[];
  resources: string[];
  resourceNames?: string[];
  verbs: string[];
}

export const FOLLOW: readonly Verb[] = ["get", "list", "watch"];

/** What the runtime does for a controller of this definition, and what the controller says that it does besides. */
export function rightsOf(controller: Controller): Right[] {
  const { for: own, owns = [], reads = [], watches = [], writesStatus = true, rights = [] } = controller;
  return [
    // Labels, finalizers and published fields are patched.
    { on: own, verbs: [...FOLLOW, "patch"] },
    ...(writesStatus ? [{ on: own, subresource: "status", verbs: ["patch"] } satisfies Right] : []),
    // An apply that makes the object needs both.
    ...owns.map((on): Right => ({ on, verbs: [...FOLLOW, "create", "patch", "delete"] })),
    ...[...reads, ...watches.map(({ ref }) => ref)].map((on): Right => ({ on, verbs: FOLLOW })),
    ...rights,
  ];
}

const ORDER: readonly string[] = ["get", "list", "watch", "create", "update", "patch", "delete", "bind"];

/** The fewest rules that give these rights and no more, in a fixed order. */
export function toRules(rights: readonly Right[]): Rule[] {
  const gathered = gather(rights);
  const merged = new Map<string, Rule>();
  for (const { group, resource, names, verbs } of [...gathered.values()].sort((a, b) => compare(`${a.group} ${a.resource}`, `${b.group} ${b.resource}`))) {
    const allowed = withoutGivenAnyway([...verbs], names, gathered.get(JSON.stringify([group, resource, []]))?.verbs);
    if (allowed.length === 0) continue;
    const sorted = allowed.sort((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b));
    const key = JSON.stringify([group, sorted, names]);
    const rule = merged.get(key) ?? { apiGroups: [group], resources: [], ...(names.length > 0 && { resourceNames: names }), verbs: sorted };
    rule.resources.push(resource);
    merged.set(key, rule);
  }
  return [...merged.values()];
}

interface Gathered {
  group: string;
  resource: string;
  names: string[];
  verbs: Set<string>;
}

/** All verbs on one resource, or on the same names of it. */
function gather(rights: readonly Right[]): Map<string, Gathered> {
  const gathered = new Map<string, Gathered>();
  for (const { on, subresource, verbs, names = [] } of rights) {
    const resource = subresource ? `${on.plural}/${subresource}` : on.plural;
    const sorted = [...names].sort();
    const key = JSON.stringify([on.group, resource, sorted]);
    const entry = gathered.get(key) ?? { group: on.group, resource, names: sorted, verbs: new Set() };
    for (const verb of verbs) entry.verbs.add(verb);
    gathered.set(key, entry);
  }
  return gathered;
}

/** A right on named objects adds nothing to the same right on all. */
function withoutGivenAnyway(verbs: string[], names: readonly string[], whole: ReadonlySet<string> | undefined): string[] {
  return names.length === 0 || !whole ? verbs : verbs.filter((verb) => !whole.has(verb));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

