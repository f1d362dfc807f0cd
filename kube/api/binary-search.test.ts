// Finds the first place that does not pass, as a walk over all places does.
import { expect, test } from "vitest";
import { firstFailing } from "./binary-search.ts";

test("finds what a walk finds, in any range", () => {
  for (let to = 0; to <= 9; to++)
    for (let from = 0; from <= to; from++)
      for (let passing = 0; passing <= 10; passing++)
        expect(firstFailing(from, to, (at) => at < passing)).toBe(Math.min(to, Math.max(from, passing)));
});
