// Names that look like others are refused.
import { expect, test } from "vitest";
import { cfNameProblem } from "./cf-name.ts";

const INVISIBLE = "must not contain control or zero-width characters";
const BLANK = "must not begin or end with a blank";

test.each<[string, string | undefined]>([
  ["app", undefined],
  ["My App 2.0_x", undefined],
  ["äpp-日本語-☕", undefined],
  ["app ", BLANK],
  [" app", BLANK],
  ["app\u00a0", BLANK],
  ["\u3000app", BLANK],
  ["a\u200bpp", INVISIBLE],
  ["app\ufeff", INVISIBLE],
  ["a\u00adpp", INVISIBLE],
  ["\u202eapp", INVISIBLE],
  ["a\u2028b", INVISIBLE],
  ["a\tb", INVISIBLE],
  ["a\u0000b", INVISIBLE],
  ["app\u007f", INVISIBLE],
  ["app\u3164", INVISIBLE],
])("%j: %s", (name, problem) => {
  expect(cfNameProblem(name)).toBe(problem);
});
