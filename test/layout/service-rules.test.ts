// docs/service-rules.md names for each rule and promise tests that exist, by file and title.
import { expect, test } from "vitest";
import { exists, readText } from "./source-tree.ts";

/** First cell and last cell, with the tests. */
const ROWS = [...readText("docs/service-rules.md").matchAll(/^\| ([^|]+) \| .+ \| (`.+) \|$/gm)].map(
  ([, name = "", tests = ""]) => ({ name, tests: tests.split("; `") }),
);

test("the rules are numbered, each once, and promises follow", () => {
  const numbers = ROWS.map(({ name }) => Number(name)).filter(Number.isInteger);
  expect(numbers).toEqual(Array.from({ length: 38 }, (_, at) => at + 1));
  expect(ROWS.length).toBeGreaterThan(numbers.length);
});

test.each(ROWS)("$name: its tests exist", ({ tests }) => {
  for (const named of tests) {
    const [, path = "", title = ""] = /^`?([^`]+)`: "(.+)"$/.exec(named) ?? [];
    expect(path, named).toMatch(/\.(test|e2e|cases)\.ts$|rows\.ts$/);
    expect(exists(path) && readText(path).includes(`"${title}"`), named).toBe(true);
  }
});
