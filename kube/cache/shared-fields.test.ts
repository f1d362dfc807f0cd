// Equal parts of field sets are one object in the cache, and what they say stays.
import { expect, test } from "vitest";
import type { KubeObject } from "../api/object.ts";
import { shareFieldSets } from "./shared-fields.ts";

type Fields = Record<string, Record<string, unknown>>;
const applied = (name: string, replicas: string): KubeObject => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: {
    name,
    managedFields: [
      {
        manager: "things",
        operation: "Apply",
        fieldsV1: {
          "f:metadata": { "f:labels": { "f:a": {} }, "f:ownerReferences": { [`k:{"uid":"${name}"}`]: {} } },
          "f:spec": { [replicas]: {}, "f:template": { "f:spec": { "f:containers": {} } } },
        },
      },
    ],
  },
});
const fieldsOf = ({ metadata }: KubeObject): Fields => metadata.managedFields?.[0]?.fieldsV1 as Fields;

test("objects share the parts that are equal, also where their owners differ, and say what they said", () => {
  const one = shareFieldSets(applied("one", "f:replicas"));
  const other = shareFieldSets(applied("other", "f:paused"));
  expect(fieldsOf(other)["f:metadata"]?.["f:labels"]).toBe(fieldsOf(one)["f:metadata"]?.["f:labels"]);
  expect(fieldsOf(other)["f:spec"]?.["f:template"]).toBe(fieldsOf(one)["f:spec"]?.["f:template"]);
  expect([one, other]).toEqual([applied("one", "f:replicas"), applied("other", "f:paused")]);
});

test("a set that has no parts, and an object without managed fields, stay as they are", () => {
  const plain = (managedFields: object[]): KubeObject =>
    ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "plain", managedFields } }) as KubeObject;
  for (const entries of [[], [{ manager: "things" }], [{ manager: "things", fieldsV1: { "f:spec": {}, odd: null } }]])
    expect(shareFieldSets(plain(entries))).toEqual(plain(entries));
});
