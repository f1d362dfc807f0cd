// How `cup` prints what takes time.
import { expect, test } from "vitest";
import { bar } from "./output.ts";

test.each([
  [0, 40 * 2 ** 20, "░░░░░░░░░░░░░░░░░░░░░░░░ 0B of 40M"],
  [10 * 2 ** 20, 40 * 2 ** 20, "██████░░░░░░░░░░░░░░░░░░ 10M of 40M"],
  [40 * 2 ** 20, 40 * 2 ** 20, "████████████████████████ 40M of 40M"],
  [0, 0, "████████████████████████ 0B of 0B"],
])("%d of %d bytes", (done, total, expected) => {
  expect(bar(done, total).trimEnd()).toBe(expected);
});
