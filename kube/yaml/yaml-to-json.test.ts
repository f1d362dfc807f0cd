// No YAML text costs the square of its length, in either dialect.
import { expect, test } from "vitest";
import { cpuMilliseconds } from "../testing/cpu-time.ts";
import { yamlToJson } from "./yaml-to-json.ts";

const keys = Array.from({ length: 50_000 }, (_, index) => `k${index}`);

/** A parser that compares each key with all earlier ones takes twice this for the fastest of these; ours takes a tenth. */
const MOST_MS = 5_000;
const TIMEOUT_MS = 60_000;

test.each([
  ["a mapping", `{${keys.join(",")}}`],
  ["a block mapping", keys.join(":\n").concat(":")],
  ["a set", `a: !!set {${keys.join(",")}}`],
])(
  "%s with very many keys is read",
  (_name, text) => {
    for (const dialect of ["tree", "kubernetes"] as const) {
      const read = (): void =>
        expect(yamlToJson(text, dialect)).toMatchObject({ json: expect.stringContaining(`"${keys.at(-1)}":null`) });
      expect(cpuMilliseconds(read)).toBeLessThan(MOST_MS);
    }
  },
  TIMEOUT_MS,
);

test.each([
  ["errors on one line", `a: '${"b' '\n ".repeat(50_000)}'`],
  ["unknown tags on one line", `[${"!<tag:yaml.org,2002:q> a,".repeat(40_000)}]`],
  ["mappings as keys of mappings", "{".repeat(500) + "a".repeat(10_000) + ": 1}".repeat(500)],
  ["colons", `a: ${"b: ".repeat(20_000)}c`],
  ["commas", `a: [${",".repeat(1_000_000)}]`],
  ["open brackets", "[".repeat(100_000)],
  ["dashes", "- ".repeat(100_000)],
])(
  "very many %s",
  (_name, text) => {
    for (const dialect of ["tree", "kubernetes"] as const)
      expect(cpuMilliseconds(() => void yamlToJson(text, dialect))).toBeLessThan(MOST_MS);
  },
  TIMEOUT_MS,
);
