// JSON patch as kube-apiserver's library carries it out: a value that is left out is null, replacing what is not there adds it, indices may count from the end.
import type { KubeObject } from "../../../kube/api/object.ts";
import { isMap, type JsonMap, sameValue } from "../apply/values.ts";
import { badRequest, failure } from "../status.ts";

const MOST_OPERATIONS = 10_000;
/** Characters that the copies of one patch may add. */
const MOST_COPIED = 3 * 1024 * 1024;

interface Operation {
  op: string;
  path: string;
  from: string;
  value: unknown;
}

/** The patched object; `target` may be changed on the way. Throws 400 on what is no patch, 422 on one that does not fit. */
export function jsonPatch(target: KubeObject, patch: unknown): KubeObject {
  if (patch === null) return target;
  if (!Array.isArray(patch)) throw undecodable("cannot unmarshal object into Go value of type []handlers.jsonPatchOp");
  if (patch.length > MOST_OPERATIONS)
    throw failure(
      413,
      "RequestEntityTooLarge",
      `The allowed maximum operations in a JSON patch is ${MOST_OPERATIONS}, got ${patch.length}`,
    );
  const state: State = { root: target, copied: 0 };
  for (const operation of patch.map(readOperation)) (VERBS.get(operation.op) ?? rejected)(state, operation);
  return state.root as unknown as KubeObject;
}

const undecodable = (what: string) => badRequest(`error decoding patch: json: ${what}`);

function rejected(): never {
  throw failure(422, "Invalid", "the server rejected our request due to an error in our request", { details: {} });
}

function readOperation(given: unknown): Operation {
  if (given !== null && !isMap(given)) throw undecodable("cannot unmarshal into Go value of type handlers.jsonPatchOp");
  const text = (name: string): string => {
    const value = given?.[name] ?? "";
    if (typeof value !== "string")
      throw undecodable(`cannot unmarshal into Go struct field jsonPatchOp.${name} of type string`);
    return value;
  };
  return { op: text("op"), path: text("path"), from: text("from"), value: given?.value ?? null };
}

interface State {
  root: JsonMap | unknown[];
  copied: number;
}

type Holder = JsonMap | unknown[];

interface Place {
  holder: Holder;
  key: string;
}

/** The map or list that a pointer ends in; 422 when there is none. What stands before the first slash does not count. */
function find({ root }: State, pointer: string): Place {
  const [, ...parts] = pointer.split("/").map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  // It would set a prototype, and is no field of any kind.
  if (parts.includes("__proto__")) throw badRequest("a field may not be named __proto__");
  const key = parts.pop();
  if (key === undefined) return rejected();
  let holder: Holder = root;
  for (const part of parts) {
    const next = get({ holder, key: part });
    if (typeof next !== "object" || next === null) return rejected();
    holder = next as Holder;
  }
  return { holder, key };
}

/** An index into a list of `length` items; negative ones count from the end. */
function indexOf(key: string, length: number): number {
  if (!/^[+-]?\d+$/.test(key)) return rejected();
  const index = Number(key);
  if (index >= length || index < -length) return rejected();
  return index < 0 ? index + length : index;
}

function get({ holder, key }: Place): unknown {
  if (Array.isArray(holder)) return holder[indexOf(key, holder.length)];
  return Object.hasOwn(holder, key) ? holder[key] : undefined;
}

function add({ holder, key }: Place, value: unknown): void {
  if (!Array.isArray(holder)) holder[key] = value;
  else if (key === "-") holder.push(value);
  else holder.splice(indexOf(key, holder.length + 1), 0, value);
}

function remove({ holder, key }: Place): void {
  if (Array.isArray(holder)) holder.splice(indexOf(key, holder.length), 1);
  else if (Object.hasOwn(holder, key)) delete holder[key];
  else rejected();
}

type Verb = (state: State, operation: Operation) => void;

/** A map, because the client's word may be one that every object inherits. */
const VERBS: ReadonlyMap<string, Verb> = new Map<string, Verb>(
  Object.entries<Verb>({
    add: (state, { path, value }) => add(find(state, path), structuredClone(value)),
    remove: (state, { path }) => remove(find(state, path)),
    replace(state, { path, value }) {
      if (path === "") {
        if (typeof value !== "object" || value === null) rejected();
        state.root = structuredClone(value) as Holder;
        return;
      }
      const place = find(state, path);
      if (Array.isArray(place.holder)) place.holder[indexOf(place.key, place.holder.length)] = structuredClone(value);
      else place.holder[place.key] = structuredClone(value);
    },
    move(state, { path, from }) {
      const source = find(state, from);
      const value = get(source);
      remove(source);
      add(find(state, path), value);
    },
    copy(state, { path, from }) {
      const value = get(find(state, from)) ?? null;
      const goal = find(state, path);
      // Copies of copies double an object with each operation.
      state.copied += JSON.stringify(value).length;
      if (state.copied > MOST_COPIED)
        throw failure(
          413,
          "RequestEntityTooLarge",
          `Unable to copy, the accumulated size increase of copy is ${state.copied}, exceeding the limit ${MOST_COPIED}`,
        );
      add(goal, structuredClone(value));
    },
    test(state, { path, value }) {
      const present = path === "" ? state.root : (get(find(state, path)) ?? null);
      if (!sameValue(present, value)) rejected();
    },
  }),
);
