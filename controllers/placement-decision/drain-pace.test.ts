// Turns of processes that leave clusters.
import { expect, test } from "vitest";
import { createDrainPace } from "./drain-pace.ts";

test("each process gets a turn of its own, 2 s after that of the one before, and keeps it", () => {
  const pace = createDrainPace();
  const take = (now: number, ...ids: string[]): number[] => ids.map((id) => pace.take("west", id, now));
  expect(take(1000, "a", "b", "c", "b")).toEqual([0, 2000, 4000, 2000]);
  expect(take(3000, "b", "c", "d")).toEqual([0, 2000, 4000]);
});

test("after a pause the next one goes at once", () => {
  const pace = createDrainPace();
  pace.take("west", "a", 0);
  expect(pace.take("west", "b", 60_000)).toBe(0);
});

test("a queue waits for no other", () => {
  const pace = createDrainPace();
  for (let at = 0; at < 1000; at++) pace.take("west Draining", `app-${at}`, 0);
  expect(["app-999", "lost", "app-1"].map((id) => pace.take("east Lost", id, 0))).toEqual([0, 2000, 4000]);
  expect(pace.take("west Draining", "app-999", 0)).toBe(1_998_000);
});
