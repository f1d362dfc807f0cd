// Equal field sets are one object in the cache, and what they say stays.
import { expect, test } from "vitest";
import type { KubeObject } from "../api/object.ts";
import { shareFieldSets } from "./shared-fields.ts";

const applied = (name: string, fieldsV1: Record<string, unknown>): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, managedFields: [{ manager: "things", operation: "Apply", fieldsV1 }] },
});
const fieldsOf = ({ metadata }: KubeObject): unknown => metadata.managedFields?.[0]?.fieldsV1;

test("objects with equal field sets share them, others do not", () => {
  const one = shareFieldSets(applied("one", { "f:data": { "f:a": {} } }));
  const other = shareFieldSets(applied("other", { "f:data": { "f:a": {} } }));
  const third = shareFieldSets(applied("third", { "f:data": { "f:b": {} } }));
  expect(fieldsOf(other)).toBe(fieldsOf(one));
  expect(fieldsOf(third)).toEqual({ "f:data": { "f:b": {} } });
});

test("an object without managed fields stays as it is", () => {
  const plain: KubeObject = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "plain" } };
  expect(shareFieldSets(plain)).toEqual({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "plain" } });
});
