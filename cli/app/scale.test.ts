// Closing lines of `cup scale`.
import { expect, test } from "vitest";
import { tellScaled } from "./scale.ts";

test.each([
  [0, "shop web: 0 instances of 64M."],
  [1, "shop web: 1 instance of 64M."],
  [2, "shop web: 2 instances of 64M."],
])("scaled to %i", (count, line) => expect(tellScaled("shop web", count, 64)).toBe(line));
