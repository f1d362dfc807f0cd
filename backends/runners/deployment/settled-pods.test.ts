// Changes of a large LRP's pods that come together are seen by one reconcile; of a small LRP they are read at once.
import { expect, test } from "vitest";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { lrpSpec, makeObject } from "../../../crds/testing/objects.ts";
import type { Reader } from "../../../kube/cache/reader.ts";
import { readSettledPods } from "./settled-pods.ts";

test.each([
  ["a small LRP", 3, 1],
  ["a large LRP", 100, 2],
])("%s", async (_what, pods, reads) => {
  const lists: unknown[][] = [];
  // Each read shows another pod.
  const list = (): unknown[] => {
    const next = Array.from({ length: pods + lists.length });
    lists.push(next);
    return next;
  };
  const found = await readSettledPods(makeObject(LRP, "shop", { spec: lrpSpec({ instances: pods }) }), {
    list,
  } as unknown as Reader);
  expect(lists).toHaveLength(reads);
  expect(found).toHaveLength(pods + reads - 1);
});
