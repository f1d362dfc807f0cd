// Quantities as numbers.
import { expect, test } from "vitest";
import { parseQuantity } from "./quantity.ts";

test.each([
  ["250m", 0.25],
  ["12345n", 12345e-9],
  ["3u", 3e-6],
  ["2", 2],
  ["1.5Gi", 1.5 * 2 ** 30],
  ["128974848", 128974848],
  ["129M", 129e6],
])("%s is %d", (text, value) => expect(parseQuantity(text)).toBeCloseTo(value, 9));

test("text that is no quantity has no number", () => expect(parseQuantity("none")).toBeUndefined());
