// Whether a server-side apply would change anything, from the live object and its managedFields. Pure.
// managedFields distinguishes lists merged by key from atomic lists, so no schema is needed.
import { parseQuantity } from "./quantity.ts";
import { isRecord } from "./is-record.ts";

type Fields = Record<string, unknown>;
type Json = Record<string, unknown>;

/** `fields` is our manager's fieldsV1 on the live object; undefined means that we have never applied it. */
export function needsApply(desired: object, live: object | undefined, fields: Fields | undefined): boolean {
  if (!live || !fields) return true;
  const wanted = withoutIdentity(desired as Json);
  return !covers(wanted, live, fields, false) || !owns(fields, wanted) || ownsUndesired(fields, wanted);
}

// The server records no owner for these fields.
function withoutIdentity(object: Json): Json {
  const { apiVersion: _apiVersion, kind: _kind, metadata, ...rest } = object;
  const { name: _name, namespace: _namespace, ...meta } = (metadata ?? {}) as Json;
  return { ...rest, metadata: meta };
}

/** Whether every desired value is live. Values added by the server or by others are ignored. */
function covers(desired: unknown, live: unknown, fields: unknown, quantities: boolean): boolean {
  if (isEmptyValue(desired) && (live === undefined || live === null)) return true;
  if (Array.isArray(desired)) return Array.isArray(live) && listCovers(desired, live, fields, quantities);
  if (isRecord(desired)) {
    if (!isRecord(live)) return false;
    return Object.entries(desired).every(([key, value]) =>
      covers(value, live[key], fieldOf(fields, key), quantities || QUANTITY_MAPS.has(key)),
    );
  }
  return desired === live || (quantities && sameQuantity(desired, live));
}

function listCovers(
  desired: readonly unknown[],
  live: readonly unknown[],
  fields: unknown,
  quantities: boolean,
): boolean {
  const keys = listKeys(fields);
  if (keys) {
    return desired.every((item) => {
      const twin = live.find((candidate) => sameItem(item, candidate, keys));
      return twin !== undefined && covers(item, twin, itemFields(fields, item), quantities);
    });
  }
  if (isSet(fields)) return desired.every((value) => live.includes(value));
  return desired.length === live.length && desired.every((item, at) => covers(item, live[at], undefined, quantities));
}

/** Everything desired is recorded as ours: a field that another writer took over, even with an equal value inside, counts as a difference. */
function owns(fields: unknown, desired: unknown): boolean {
  if (isEmptyValue(desired) || !isRecord(fields)) return true;
  // A leaf of the record: owned whole.
  if (Object.keys(fields).length === 0) return true;
  if (Array.isArray(desired)) {
    if (isSet(fields)) return desired.every((value) => `v:${JSON.stringify(value)}` in fields);
    return desired.every((item) => {
      const inner = itemFields(fields, item);
      return inner !== undefined && owns(inner, item);
    });
  }
  if (!isRecord(desired)) return true;
  return Object.entries(desired).every(
    ([key, value]) => isEmptyValue(value) || (`f:${key}` in fields && owns(fieldOf(fields, key), value)),
  );
}

/** Whether we own a field that is no longer desired, so that an apply would remove it. */
function ownsUndesired(fields: unknown, desired: unknown): boolean {
  return Object.entries(isRecord(fields) ? fields : {}).some(([entry, inner]) => {
    if (entry.startsWith("f:")) {
      const value = isRecord(desired) ? desired[entry.slice(2)] : undefined;
      return value === undefined || value === null || ownsUndesired(inner, value);
    }
    if (!Array.isArray(desired)) return false;
    if (entry.startsWith("v:")) return !desired.includes(JSON.parse(entry.slice(2)));
    if (!entry.startsWith("k:")) return false;
    const key = JSON.parse(entry.slice(2)) as Json;
    const item = desired.find((candidate) => sameItem(candidate, key, Object.keys(key)));
    return item === undefined || ownsUndesired(inner, item);
  });
}

function fieldOf(fields: unknown, key: string): unknown {
  return isRecord(fields) ? fields[`f:${key}`] : undefined;
}

/** Key fields of a list that is merged by key. */
function listKeys(fields: unknown): string[] | undefined {
  const entry = isRecord(fields) ? Object.keys(fields).find((name) => name.startsWith("k:")) : undefined;
  return entry === undefined ? undefined : Object.keys(JSON.parse(entry.slice(2)) as Json);
}

function isSet(fields: unknown): boolean {
  return isRecord(fields) && Object.keys(fields).some((name) => name.startsWith("v:"));
}

function itemFields(fields: unknown, item: unknown): unknown {
  if (!isRecord(fields)) return undefined;
  const found = Object.entries(fields).find(([name]) => {
    if (!name.startsWith("k:")) return false;
    const key = JSON.parse(name.slice(2)) as Json;
    return sameItem(item, key, Object.keys(key));
  });
  return found?.[1];
}

// The server may have defaulted a key that the desired item omits (protocol of a port).
function sameItem(desired: unknown, other: unknown, keys: readonly string[]): boolean {
  return (
    isRecord(desired) &&
    isRecord(other) &&
    keys.every((key) => desired[key] === undefined || desired[key] === other[key])
  );
}

/** Values that the server may not store: undefined, empty maps and lists, and zero values of typed kinds. */
function isEmptyValue(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.values(value).every((inner) => inner === undefined);
  return value === undefined || value === null || value === "" || value === 0 || value === false;
}

const QUANTITY_MAPS = new Set(["limits", "requests", "hard", "capacity", "overhead", "sizeLimit"]);

// The server normalizes quantities: 1000m becomes 1, 1024Mi becomes 1Gi.
function sameQuantity(a: unknown, b: unknown): boolean {
  const left = parseQuantity(String(a));
  return left !== undefined && left === parseQuantity(String(b));
}
