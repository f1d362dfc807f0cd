// docs/service-rules.md names for each rule tests that exist, by file and title.
import { expect, test } from "vitest";
import { exists, readText } from "./source-tree.ts";

const ROWS = [...readText("docs/service-rules.md").matchAll(/^\| (\d+) \| .+ \| (.+) \|$/gm)].map(
  ([, number = "", tests = ""]) => ({ number: Number(number), tests: tests.split("; `") }),
);

test("the rules are numbered, each once", () => {
  expect(ROWS.map(({ number }) => number)).toEqual(Array.from({ length: 38 }, (_, at) => at + 1));
});

test.each(ROWS)("rule $number names tests that exist", ({ tests }) => {
  for (const named of tests) {
    const [, path = "", title = ""] = /^`?([^`]+)`: "(.+)"$/.exec(named) ?? [];
    expect(path, named).toMatch(/\.(test|e2e|cases)\.ts$|rows\.ts$/);
    expect(exists(path) && readText(path).includes(`"${title}"`), named).toBe(true);
  }
});
