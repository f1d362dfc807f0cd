// Strategic merge patch: a merge patch whose lists merge by the keys that the schema of a built-in kind names.
import { type TypeView, untyped } from "../apply/type-view.ts";
import { entryView, isMap, type JsonMap, sameValue } from "../apply/values.ts";
import { goPrinted } from "../field-errors.ts";
import { badRequest, failure } from "../status.ts";

const DELETE_FROM = "$deleteFromPrimitiveList/";
const ORDER = "$setElementOrder/";
const RETAIN = "$retainKeys";
const DIRECTIVE = "$patch";

/** A refusal that kube-apiserver has no words for. */
const fault = (message: string) => failure(500, "", message);

/** The patched map. Neither argument is changed. Throws 400 on a broken directive, 500 (as kube-apiserver does) on one that does not fit. */
export function strategicMerge(view: TypeView, target: JsonMap, patch: JsonMap): JsonMap {
  if (Object.hasOwn(patch, DIRECTIVE)) return replaced(patch);
  const out: JsonMap = retained(target, patch);
  const ordered = orderLists(view, out, patch);
  for (const [key, value] of Object.entries(patch)) {
    if (key === RETAIN || key.startsWith(ORDER) || ordered.has(key)) continue;
    if (key.startsWith(DELETE_FROM)) deleteItems(out, key.slice(DELETE_FROM.length), value);
    else mergeEntry(view, out, { key, value });
  }
  return out;
}

/** `$patch: replace` and `$patch: delete` of a map. */
function replaced(patch: JsonMap): JsonMap {
  const { [DIRECTIVE]: directive, ...rest } = patch;
  if (directive === "replace") return rest;
  if (directive === "delete") return {};
  throw fault(`unknown patch type: ${goPrinted(directive)} in map: ${goPrinted(patch)}`);
}

function mergeEntry(view: TypeView, out: JsonMap, { key, value }: { key: string; value: unknown }): void {
  const present = out[key];
  if (value === null) delete out[key];
  else if (isMap(value) && isMap(present)) out[key] = strategicMerge(typeAt(view, key), present, value);
  else if (Array.isArray(value) && Array.isArray(present)) out[key] = mergeList(typeAt(view, key), present, value);
  else {
    const plain = withoutDirectives(value);
    if (plain === undefined) delete out[key];
    else out[key] = plain;
  }
}

const typeAt = (view: TypeView, key: string): TypeView => (view.map ? entryView(view.map, key) : untyped);

/** A patch of something that is not there: no nulls in maps, and nothing that has a directive; undefined when that is all of it. */
function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDirectives).filter((item) => item !== undefined);
  if (!isMap(value)) return value;
  if (Object.hasOwn(value, DIRECTIVE)) return undefined;
  const kept = Object.entries(value)
    .filter(([key, inner]) => inner !== null && !isDirective(key))
    .map(([key, inner]): [string, unknown] => [key, withoutDirectives(inner)]);
  return Object.fromEntries(kept.filter(([, inner]) => inner !== undefined));
}

const isDirective = (key: string) => key === RETAIN || key.startsWith(DELETE_FROM) || key.startsWith(ORDER);

/** A copy of the target, with what `$retainKeys` names if it is there. */
function retained(target: JsonMap, patch: JsonMap): JsonMap {
  const keys = patch[RETAIN];
  if (keys === undefined) return { ...target };
  const isListed = (key: string) => Array.isArray(keys) && keys.includes(key);
  const others = Object.entries(patch).filter(([key, value]) => value !== null && !isDirective(key) && !isListed(key));
  if (!Array.isArray(keys) || others.length > 0) throw badRequest("invalid patch format of retainKeys");
  return Object.fromEntries(Object.entries(target).filter(([key]) => isListed(key)));
}

function strategyOf(type: TypeView): { merges: boolean; key?: string } {
  const merges = String(type.schema["x-kubernetes-patch-strategy"] ?? "")
    .split(",")
    .includes("merge");
  return { merges, key: type.schema["x-kubernetes-patch-merge-key"] as string | undefined };
}

function mergeList(type: TypeView, target: unknown[], patch: unknown[]): unknown[] {
  const { merges, key } = strategyOf(type);
  if (!merges) return patch;
  if (target.length === 0 && patch.length === 0) return target;
  if (!haveOneType([...target, ...patch]))
    throw fault(`list element types are not identical: ${goPrinted([target, patch])}`);
  if (!isMap([...target, ...patch][0]))
    return inOrder([...target, ...patch.filter((item) => !target.some((present) => sameValue(present, item)))], patch, {
      server: target,
      key,
    });
  if (!key) throw fault("cannot merge lists without merge key for type struct");
  const special = withSpecial(key, target, patch as JsonMap[]);
  return inOrder(mergeKeyed(type, key, special), special.patch, { server: special.target, key });
}

const typeName = (value: unknown): string => (value === null ? "null" : Array.isArray(value) ? "list" : typeof value);
const haveOneType = (items: unknown[]): boolean =>
  new Set(items.map(typeName)).size <= 1 && typeName(items[0]) !== "list" && typeName(items[0]) !== "null";

interface Lists {
  target: unknown[];
  patch: JsonMap[];
}

/** Items that are orders: `delete` takes one out of the target, `replace` all of it. */
function withSpecial(key: string, target: unknown[], patch: JsonMap[]): Lists {
  const plain = patch.filter((item) => !Object.hasOwn(item, DIRECTIVE));
  let [left, isReplaced] = [target, false];
  for (const item of patch.filter((each) => Object.hasOwn(each, DIRECTIVE))) {
    const directive = item[DIRECTIVE];
    if (directive === "merge") throw fault("merging lists cannot yet be specified in the patch");
    if (directive === "replace") isReplaced = true;
    else if (directive !== "delete")
      throw fault(`unknown patch type: ${goPrinted(directive)} in map: ${goPrinted(item)}`);
    else left = left.filter((present) => !(isMap(present) && sameValue(present[key], keyOf(item, key))));
  }
  return isReplaced ? { target: plain, patch: [] } : { target: left, patch: plain };
}

function keyOf(item: JsonMap, key: string): unknown {
  if (!Object.hasOwn(item, key)) throw fault(`map: ${goPrinted(item)} does not contain declared merge key: ${key}`);
  return item[key];
}

function mergeKeyed(type: TypeView, key: string, { target, patch }: Lists): unknown[] {
  const element = type.list?.element() ?? untyped;
  const out = [...target];
  for (const item of patch) {
    const wanted = keyOf(item, key);
    const at = out.findIndex((present) => isMap(present) && sameValue(present[key], wanted));
    const present = out[at];
    if (isMap(present)) out[at] = strategicMerge(element, present, item);
    else out.push(item);
  }
  return out;
}

function deleteItems(out: JsonMap, key: string, gone: unknown): void {
  const list = out[key];
  if (Array.isArray(list) && Array.isArray(gone))
    out[key] = list.filter((item) => !gone.some((each) => sameValue(each, item)));
}

/** Carries out `$setElementOrder` with the lists it is about; returns their fields, which are done with. */
function orderLists(view: TypeView, out: JsonMap, patch: JsonMap): Set<string> {
  const done = new Set<string>();
  for (const [directive, order] of Object.entries(patch)) {
    if (!directive.startsWith(ORDER)) continue;
    const field = directive.slice(ORDER.length);
    if (!Array.isArray(order)) throw fault(`expected a list in ${directive}`);
    if (!view.map?.field(field)) throw fault(`unable to find api field for the json field ${JSON.stringify(field)}`);
    const given = listAt(patch, field);
    const list = orderedList(typeAt(view, field), order, { present: listAt(out, field), given });
    if (list) out[field] = list;
    if (given) done.add(field);
  }
  return done;
}

function orderedList(
  type: TypeView,
  order: unknown[],
  { present, given }: { present: unknown[] | undefined; given: unknown[] | undefined },
): unknown[] | undefined {
  const { key } = strategyOf(type);
  checkOrder(given ?? [], order, key);
  const merged =
    present && given
      ? mergeList(type, present, given)
      : (present ?? (given && (withoutDirectives(given) as unknown[])));
  return merged && inOrder(merged, order, { server: present ?? [], key });
}

function listAt(map: JsonMap, field: string): unknown[] | undefined {
  const value = map[field];
  if (value !== undefined && !Array.isArray(value)) throw fault(`expected a list in ${field}`);
  return value;
}

/** Items of a patch must come in the order that it asks for, directives excepted. */
function checkOrder(given: unknown[], order: unknown[], key: string | undefined): void {
  if (given.length === 0 || order.length === 0) return;
  const plain = given.filter((item) => !(isMap(item) && Object.hasOwn(item, DIRECTIVE)));
  let at = 0;
  for (const wanted of order) if (at < plain.length && isSameItem(plain[at], wanted, key)) at += 1;
  if (at < plain.length)
    throw fault(
      `The order in patch list:\n${goPrinted(given)}\n doesn't match $setElementOrder list:\n${goPrinted(order)}\n`,
    );
}

function isSameItem(left: unknown, right: unknown, key: string | undefined): boolean {
  if (!key) return sameValue(left, right);
  if (!isMap(left) || !isMap(right)) throw fault("expected a map in a list that is merged by a key");
  return sameValue(keyOf(left, key), keyOf(right, key));
}

/** Items that the order names follow it, the others keep the server's; where both are known to the server, its order decides between them. */
function inOrder(
  list: unknown[],
  order: unknown[],
  { server, key }: { server: unknown[]; key: string | undefined },
): unknown[] {
  if (key) for (const item of list) if (isMap(item)) keyOf(item, key);
  const rank = (among: unknown[], item: unknown) =>
    among.findIndex((each) =>
      key ? isMap(each) && isMap(item) && sameValue(each[key], item[key]) : sameValue(each, item),
    );
  const sorted = (items: unknown[], by: unknown[]) => items.toSorted((a, b) => rank(by, a) - rank(by, b));
  const named = sorted(
    list.filter((item) => rank(order, item) !== -1),
    order,
  );
  const others = sorted(
    list.filter((item) => rank(order, item) === -1),
    server,
  );
  const out: unknown[] = [];
  while (named.length > 0 && others.length > 0) {
    const [left, right] = [rank(server, others[0]), rank(server, named[0])];
    out.push(left >= 0 && right >= 0 && left < right ? others.shift() : named.shift());
  }
  return [...out, ...named, ...others];
}
