// Turns of processes that leave drained clusters.
import { expect, test } from "vitest";
import { createDrainPace } from "./drain-pace.ts";

test("each process gets a turn of its own, 2 s after that of the one before, and keeps it", () => {
  const pace = createDrainPace();
  expect(["a", "b", "c", "b"].map((id) => pace.take(id, 1000))).toEqual([0, 2000, 4000, 2000]);
  expect([pace.take("b", 3000), pace.take("c", 3000), pace.take("d", 3000)]).toEqual([0, 2000, 4000]);
});

test("after a pause the next one goes at once", () => {
  const pace = createDrainPace();
  pace.take("a", 0);
  expect(pace.take("b", 60_000)).toBe(0);
});
