// Usage events of service instances: which change leaves one, and what a purge leaves.
import { expect, test } from "vitest";
import { listOpenServiceUsage, planServiceUsage, seedServiceUsage, type ServiceUsage } from "./rules.ts";
import type { ServiceUsageEvent } from "./service-usage-log.ts";

const usage: ServiceUsage = {
  instance: { guid: "I", name: "db" },
  type: "managed",
  space: { guid: "S", name: "dev" },
  orgGUID: "O",
  plan: { guid: "P", name: "small" },
};
const place = { sequence: 7, now: new Date("2026-01-01T00:00:00Z") };
const created = planServiceUsage(undefined, usage, place) as ServiceUsageEvent;

test("a new instance is created, one that is gone is deleted as it was last", () => {
  expect(created).toMatchObject({ ...usage, state: "CREATED", sequence: 7, at: "2026-01-01T00:00:00.000Z" });
  expect(planServiceUsage(created, undefined, place)).toMatchObject({ ...usage, state: "DELETED" });
  expect(planServiceUsage(undefined, undefined, place)).toBeUndefined();
});

test.each([
  ["nothing", {}, undefined],
  ["the name of its space", { space: { guid: "S", name: "other" } }, undefined],
  ["its name", { instance: { guid: "I", name: "database" } }, "UPDATED"],
  ["its plan", { plan: { guid: "Q", name: "large" } }, "UPDATED"],
])("another event when %s has changed", (_what, change, state) => {
  expect(planServiceUsage(created, { ...usage, ...change }, place)?.state).toBe(state);
});

test("two leaders give one change one GUID; the same change later has another", () => {
  const renamed = { ...usage, instance: { guid: "I", name: "database" } };
  const one = planServiceUsage(created, renamed, place) as ServiceUsageEvent;
  expect(planServiceUsage(created, renamed, { ...place, sequence: 9 })?.guid).toBe(one.guid);
  const back = planServiceUsage(one, usage, place) as ServiceUsageEvent;
  expect(planServiceUsage(back, renamed, place)?.guid).not.toBe(one.guid);
});

test("only the last event counts for what exists, and a purge begins with one event for each", () => {
  const deleted = { ...created, guid: "D", sequence: 8, state: "DELETED" } as const;
  expect([...listOpenServiceUsage([deleted, created]).keys()]).toEqual([]);
  expect([...listOpenServiceUsage([created]).keys()]).toEqual(["I"]);
  expect(seedServiceUsage([usage], 3, place.now)).toMatchObject([
    { ...usage, guid: "I", sequence: 3, state: "CREATED" },
  ]);
});
