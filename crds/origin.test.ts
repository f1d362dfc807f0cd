// Times of imported objects.
import { expect, test } from "vitest";
import type { KubeObject } from "../kube/api/object.ts";
import { creationSortKey } from "./guid.ts";
import { ANNOTATIONS } from "./labels.ts";
import { createdTimeOf, originalUpdateOf } from "./origin.ts";

const CREATED = "2026-01-01T00:00:00Z";
const withTimes = (time: string) => ({
  metadata: {
    name: "shop",
    creationTimestamp: CREATED,
    annotations: { "cupola.dev/original-created": time, "cupola.dev/original-updated": time },
  },
});

test("an imported object shows the times of its original", () => {
  const object = withTimes("2020-01-01T00:00:00Z");
  expect([createdTimeOf(object), originalUpdateOf(object)]).toEqual(["2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z"]);
});

test.each(["", "soon"])("the time %j counts as none", (time) => {
  expect([createdTimeOf(withTimes(time)), originalUpdateOf(withTimes(time))]).toEqual([CREATED, undefined]);
});

test("an imported web process, which has no GUID of its own, keeps its place among those of the same second", () => {
  const created = { [ANNOTATIONS.originalCreated]: "2026-01-01T00:00:00Z" };
  const make = (uid: string, originalUid: string): KubeObject => ({
    apiVersion: "cupola.dev/v1alpha1",
    kind: "Process",
    metadata: { name: uid, uid, annotations: { ...created, [ANNOTATIONS.originalUid]: originalUid } },
  });
  expect(creationSortKey(make("b", "1")) < creationSortKey(make("a", "2"))).toBe(true);
});
