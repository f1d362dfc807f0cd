// Strategic merge patch: a merge patch whose lists merge by the keys that the schema of a built-in kind names.
import { type TypeView, untyped } from "../apply/type-view.ts";
import { entryView, isMap, type JsonMap, sameValue } from "../apply/values.ts";
import { badRequest, failure } from "../status.ts";

const DELETE_FROM = "$deleteFromPrimitiveList/";
const ORDER = "$setElementOrder/";
const RETAIN = "$retainKeys";
const DIRECTIVE = "$patch";

/** The patched map. Neither argument is changed. Throws 400 on a broken directive. */
export function strategicMerge(view: TypeView, target: JsonMap, patch: JsonMap): JsonMap {
  if (patch[DIRECTIVE] === "replace") return withoutDirectives(patch);
  if (patch[DIRECTIVE] === "delete") return {};
  const out: JsonMap = retained({ ...target }, patch);
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith("$")) continue;
    if (value === null) delete out[key];
    else out[key] = mergeEntry(view.map ? entryView(view.map, key) : untyped, out[key], value);
  }
  applyListDirectives(view, out, { patch, target });
  return out;
}

function mergeEntry(type: TypeView, present: unknown, value: unknown): unknown {
  if (isMap(value)) return strategicMerge(type, isMap(present) ? present : {}, value);
  return Array.isArray(value) ? mergeList(type, Array.isArray(present) ? present : [], value) : value;
}

function withoutDirectives(patch: JsonMap): JsonMap {
  return Object.fromEntries(Object.entries(patch).filter(([key]) => !key.startsWith("$")));
}

function retained(target: JsonMap, patch: JsonMap): JsonMap {
  const keys = patch[RETAIN];
  if (!Array.isArray(keys)) return target;
  return Object.fromEntries(Object.entries(target).filter(([key]) => keys.includes(key)));
}

function strategyOf(type: TypeView): { merges: boolean; key?: string } {
  const merges = String(type.schema["x-kubernetes-patch-strategy"] ?? "").split(",").includes("merge");
  return { merges, key: type.schema["x-kubernetes-patch-merge-key"] as string | undefined };
}

function mergeList(type: TypeView, target: unknown[], patch: unknown[]): unknown[] {
  const { merges, key } = strategyOf(type);
  if (!merges) return patch.map((item) => (isMap(item) ? withoutDirectives(item) : item));
  if (!key) return inOrder([...target, ...patch.filter((item) => !target.some((present) => sameValue(present, item)))], patch, { server: target, key });
  if (patch.some((item) => isMap(item) && item[DIRECTIVE] === "replace")) {
    return patch.filter((item) => !(isMap(item) && item[DIRECTIVE] === "replace" && Object.keys(item).length === 1));
  }
  return inOrder(mergeKeyed(type, key, target, patch), patch, { server: target, key });
}

function mergeKeyed(type: TypeView, key: string, target: unknown[], patch: unknown[]): unknown[] {
  const element = type.list?.element() ?? untyped;
  let out = [...target];
  for (const item of patch) {
    if (!isMap(item)) throw badRequest(`expected a map in a list merged by ${key}`);
    if (item[key] === undefined) throw failure(500, "", `map: ${goPrinted(item)} does not contain declared merge key: ${key}`);
    const same = (present: unknown) => isMap(present) && sameValue(present[key], item[key]);
    if (item[DIRECTIVE] === "delete") {
      out = out.filter((present) => !same(present));
      continue;
    }
    const at = out.findIndex(same);
    const present = at === -1 ? {} : out[at];
    const merged = strategicMerge(element, isMap(present) ? present : {}, item);
    if (at === -1) out.push(merged);
    else out[at] = merged;
  }
  return out;
}

/** A value as Go prints it unasked. */
function goPrinted(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(goPrinted).join(" ")}]`;
  if (isMap(value)) return `map[${Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, inner]) => `${key}:${goPrinted(inner)}`).join(" ")}]`;
  return value === null ? "<nil>" : String(value);
}

function applyListDirectives(view: TypeView, out: JsonMap, { patch, target }: { patch: JsonMap; target: JsonMap }): void {
  for (const [directive, value] of Object.entries(patch)) {
    if (!Array.isArray(value)) continue;
    if (directive.startsWith(DELETE_FROM)) {
      const key = directive.slice(DELETE_FROM.length);
      const list = out[key];
      if (Array.isArray(list)) out[key] = list.filter((item) => !value.some((gone) => sameValue(gone, item)));
    } else if (directive.startsWith(ORDER)) {
      const key = directive.slice(ORDER.length);
      const list = out[key];
      const type = view.map ? entryView(view.map, key) : untyped;
      if (Array.isArray(list)) out[key] = inOrder(list, value, { server: Array.isArray(target[key]) ? target[key] : [], key: strategyOf(type).key });
    }
  }
}

/** Items that the order names follow it, the others keep the server's; where both are known to the server, its order decides between them. */
function inOrder(list: unknown[], order: unknown[], { server, key }: { server: unknown[]; key: string | undefined }): unknown[] {
  const rank = (among: unknown[], item: unknown) => among.findIndex((each) => (key ? isMap(each) && isMap(item) && sameValue(each[key], item[key]) : sameValue(each, item)));
  const sorted = (items: unknown[], by: unknown[]) => items.toSorted((a, b) => rank(by, a) - rank(by, b));
  const named = sorted(list.filter((item) => rank(order, item) !== -1), order);
  const others = sorted(list.filter((item) => rank(order, item) === -1), server);
  const out: unknown[] = [];
  while (named.length > 0 && others.length > 0) {
    const [left, right] = [rank(server, others[0]), rank(server, named[0])];
    out.push(left >= 0 && right >= 0 && left < right ? others.shift() : named.shift());
  }
  return [...out, ...named, ...others];
}
