// Sets of field paths, kept as `fieldsV1` writes them: a tree whose keys are `f:<name>`, `k:<json>`, `v:<json>` or `i:<n>`.
// A set is never changed once somebody else has it: operations return new sets and may share subtrees.

export interface FieldSet {
  members: Set<string>;
  children: Map<string, FieldSet>;
}

export const emptySet = (): FieldSet => ({ members: new Set(), children: new Map() });

const NONE: FieldSet = emptySet();

export function isEmpty(set: FieldSet): boolean {
  if (set.members.size > 0) return false;
  for (const child of set.children.values()) if (!isEmpty(child)) return false;
  return true;
}

/** Adds a path to a set under construction. */
export function insert(set: FieldSet, path: string[]): void {
  let at = set;
  for (const element of path.slice(0, -1)) {
    let child = at.children.get(element);
    if (!child) at.children.set(element, (child = emptySet()));
    at = child;
  }
  const last = path.at(-1);
  if (last !== undefined) at.members.add(last);
}

/** The part of a set below a path element. */
export const below = (set: FieldSet, element: string): FieldSet => set.children.get(element) ?? NONE;

function combine(keys: Iterable<string>, child: (key: string) => FieldSet): Map<string, FieldSet> {
  const children = new Map<string, FieldSet>();
  for (const key of keys) {
    const set = child(key);
    if (!isEmpty(set)) children.set(key, set);
  }
  return children;
}

export function union(a: FieldSet, b: FieldSet): FieldSet {
  return {
    members: a.members.union(b.members),
    children: combine(new Set([...a.children.keys(), ...b.children.keys()]), (key) => {
      const left = a.children.get(key);
      const right = b.children.get(key);
      return left && right ? union(left, right) : (left ?? right ?? NONE);
    }),
  };
}

export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  return {
    members: a.members.intersection(b.members),
    children: combine(a.children.keys(), (key) => intersection(below(a, key), below(b, key))),
  };
}

/** Paths of `a` that are not in `b`; a member of `b` does not take the paths below it along. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  return {
    members: a.members.difference(b.members),
    children: combine(a.children.keys(), (key) => difference(below(a, key), below(b, key))),
  };
}

/** Paths of `a` that are neither in `b` nor below one of its members. */
export function withoutTrees(a: FieldSet, b: FieldSet): FieldSet {
  return {
    members: a.members.difference(b.members),
    children: combine(
      [...a.children.keys()].filter((key) => !b.members.has(key)),
      (key) => withoutTrees(below(a, key), below(b, key)),
    ),
  };
}

/** A set of plain field paths, for rules written in code. */
export function setOf(...paths: string[][]): FieldSet {
  const set = emptySet();
  for (const path of paths)
    insert(
      set,
      path.map((name) => `f:${name}`),
    );
  return set;
}

/** All paths as kube-apiserver prints them (`.spec.ports[port=80,protocol="TCP"]`), in the order of the set. */
export function printPaths(set: FieldSet): string[] {
  const paths: string[] = [];
  const walk = (at: FieldSet, prefix: string) => {
    for (const element of [...at.members].sort()) paths.push(prefix + printElement(element));
    for (const [element, child] of [...at.children].sort(([a], [b]) => (a < b ? -1 : 1)))
      walk(child, prefix + printElement(element));
  };
  walk(set, "");
  return paths;
}

export function printElement(element: string): string {
  const rest = element.slice(2);
  if (element.startsWith("f:")) return `.${rest}`;
  if (element.startsWith("v:")) return `[=${rest}]`;
  if (element.startsWith("i:")) return `[${rest}]`;
  const keys = JSON.parse(rest) as Record<string, unknown>;
  return `[${Object.entries(keys)
    .map(([key, value]) => `${key}=${printKey(value)}`)
    .join(",")}]`;
}

/** A value that should be the key of an item. */
function printKey(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return Array.isArray(value)
    ? `[${value.map(printKey).join(",")}]`
    : Object.entries(value)
        .map(([key, inner]) => `${key}=${printKey(inner)}`)
        .join("");
}

/** The `fieldsV1` of a set. */
export function encodeSet(set: FieldSet): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const element of [...new Set([...set.members, ...set.children.keys()])].sort()) {
    const child = set.children.get(element);
    const inner = child && !isEmpty(child) ? encodeSet(child) : {};
    out[element] = set.members.has(element) && Object.keys(inner).length > 0 ? { ".": {}, ...inner } : inner;
  }
  return out;
}

/** Reads a `fieldsV1`; what is not a tree of objects is passed over. */
export function decodeSet(fields: unknown): FieldSet {
  const set = emptySet();
  for (const [element, inner] of Object.entries((fields ?? {}) as Record<string, unknown>)) {
    if (element === "." || typeof inner !== "object" || inner === null) continue;
    const names = Object.keys(inner);
    if (names.length === 0 || "." in inner) set.members.add(element);
    if (names.some((name) => name !== ".")) set.children.set(element, decodeSet(inner));
  }
  return set;
}
