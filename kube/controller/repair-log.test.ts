// How often an owner's children were restored within an hour.
import { expect, test } from "vitest";
import { createRepairLog } from "./repair-log.ts";

test("repairs of an owner count for an hour", () => {
  let now = 0;
  const log = createRepairLog(() => now);
  log.add("one");
  now = 1_800_000;
  log.add("one");
  log.add("other");
  expect([log.count("one"), log.count("other"), log.count("none")]).toEqual([2, 1, 0]);
  now = 3_600_000;
  expect(log.count("one")).toBe(1);
});

test("no more than a hundred are kept", () => {
  const log = createRepairLog(() => 0);
  for (let at = 0; at < 500; at++) log.add("one");
  expect(log.count("one")).toBe(100);
});
