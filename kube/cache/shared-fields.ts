// Field sets of managedFields, each of their parts kept once: a controller's objects of one kind have nearly equal ones, which are larger than all else in them.
import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { KubeObject } from "../api/object.ts";

/** Parts that objects share are used again and again, so they outlast those of one object, such as its owner's uid. */
const MAX_PARTS = 1000;
const parts = new LRUCache<string, object>({ max: MAX_PARTS });

/** Replaces parts of field sets (`f:labels` in `f:metadata`, `f:template` in `f:spec`) by equal ones of other cached objects. Mutates the object; nobody changes a part. */
export function shareFieldSets<T extends KubeObject>(object: T): T {
  for (const { fieldsV1 = {} } of object.metadata.managedFields ?? [])
    for (const set of Object.values(fieldsV1)) if (isSet(set)) shareParts(set);
  return object;
}

function shareParts(set: Record<string, unknown>): void {
  for (const [name, part] of Object.entries(set)) if (isSet(part)) set[name] = sharedPart(part);
}

function sharedPart(part: object): object {
  const key = hash("sha256", JSON.stringify(part), "base64");
  const known = parts.get(key);
  if (!known) parts.set(key, part);
  return known ?? part;
}

function isSet(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
