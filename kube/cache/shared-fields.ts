// Field sets of managedFields, each kept once: a controller's objects of one kind have equal ones, which are larger than all else in them.
import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { KubeObject } from "../api/object.ts";

type FieldSet = Record<string, unknown>;

/** Kinds of owned objects, times the shapes that a controller gives them, are far fewer. */
const MAX_SETS = 500;
const sets = new LRUCache<string, FieldSet>({ max: MAX_SETS });

/** Replaces field sets by equal ones that other cached objects have. Mutates the object; nobody changes a set. */
export function shareFieldSets<T extends KubeObject>(object: T): T {
  for (const entry of object.metadata.managedFields ?? [])
    if (entry.fieldsV1) entry.fieldsV1 = sharedSet(entry.fieldsV1);
  return object;
}

function sharedSet(fields: FieldSet): FieldSet {
  const key = hash("sha256", JSON.stringify(fields), "base64");
  const known = sets.get(key);
  if (!known) sets.set(key, fields);
  return known ?? fields;
}
