// A few hundred generated requests; `npm run fuzz:api` sends as many as one likes.
import { expect, test } from "vitest";
import { fuzzApi } from "./fuzz.ts";

test("generated requests meet no 500, no answer that is not as its schema, and nothing of another space", async () => {
  const { statuses, faults } = await fuzzApi({ seed: 7, requests: 400 });
  expect(faults).toEqual([]);
  // The generator still makes requests that succeed, and some that are refused.
  expect(Object.keys(statuses)).toEqual(expect.arrayContaining(["200", "201", "400", "403", "404", "422"]));
}, 120_000);
