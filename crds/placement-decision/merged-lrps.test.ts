// The LRPs of several clusters as one for each revision.
import { expect, test } from "vitest";
import { mergeLRPs } from "./merged-lrps.ts";
import type { PlacedLRP } from "./placement-decision.ts";

const running = (index: number) => ({ index, state: "Running" as const, ready: true });

const placed = (name: string, indexes: number[], change: Partial<PlacedLRP> = {}): PlacedLRP => ({
  name,
  lrp: `shop-${name}`,
  revision: "7",
  class: "process",
  processGUID: "guid",
  memoryMB: 64,
  diskMB: 64,
  logRateLimitBytesPerSecond: -1,
  wanted: indexes.length,
  indexes: indexes.map((index) => ({ start: index, end: index })),
  instances: indexes.map(running),
  ...change,
});

const states = (...all: PlacedLRP[]): string[][] =>
  mergeLRPs("dev", all).map(({ status }) => (status?.instances ?? []).map(({ index, state }) => `${index} ${state}`));

test("a revision has the instances of all clusters, each with its cluster", () => {
  const [merged] = mergeLRPs("dev", [placed("local", [0, 2]), placed("west", [1])]);
  expect(merged).toMatchObject({
    names: ["shop-local", "shop-west"],
    spec: { instances: 3, indexes: [{ start: 0, end: 2 }] },
    status: { runningInstances: 3, instances: [{ cluster: "local" }, { cluster: "west" }, { cluster: "local" }] },
  });
});

test("on a single cluster no instance names it", () =>
  expect(mergeLRPs("dev", [placed("west", [0])])[0]?.status?.instances).toEqual([running(0)]));

test("instances of a cluster that does not answer are down, and say since when", () => {
  const [merged] = mergeLRPs("dev", [placed("local", [0]), placed("west", [1], { unreachableSince: "12:03" })]);
  expect(merged?.status).toMatchObject({ runningInstances: 1, instances: [running(0), { index: 1, state: "Down" }] });
  expect(merged?.status?.instances?.[1]?.details).toBe("cluster west unreachable since 12:03");
});

test("an LRP that its runner has not seen yet starts, and one that ends counts only alone", () => {
  const { instances: _, ...unseen } = placed("west", [1]);
  expect(states(placed("local", [0]), unseen)).toEqual([["0 Running", "1 Starting"]]);
  expect(states(placed("local", [0]), placed("west", [0], { deleting: true }))).toEqual([["0 Running"]]);
  expect(mergeLRPs("dev", [placed("west", [0], { deleting: true })])[0]?.metadata.deletionTimestamp).toBeDefined();
});

test("an index that is on two clusters while its instance moves counts once, as the one that serves", () => {
  const starting = placed("east", [0], { instances: [{ index: 0, state: "Starting", ready: false }] });
  const [merged] = mergeLRPs("dev", [starting, placed("west", [0])]);
  expect([merged?.spec.instances, merged?.status]).toEqual([
    1,
    { runningInstances: 1, instances: [{ ...running(0), cluster: "west" }] },
  ]);
});

test("each revision is apart", () =>
  expect(states(placed("local", [0]), placed("local", [0], { revision: "8", lrp: "new" }))).toEqual([
    ["0 Running"],
    ["0 Running"],
  ]));
