// docs/labels.md is the contract of labels: each tier lists its keys, and no key of another tier.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { OBSERVE_LABELS, STABLE_LABELS } from "../../crds/labels.ts";

const page = readFileSync(join(import.meta.dirname, "..", "..", "docs", "labels.md"), "utf8");
const [, stable = "", observe = ""] = page.split(/^## /m);

/** Keys in backticks. */
const keysIn = (part: string): Set<string> => new Set(part.match(/(?<=`)cupola\.dev\/[a-z-]+(?=[`:])/g));
/** Those of the first column of the table. */
const listed = keysIn(
  stable
    .split("\n")
    .filter((line) => line.startsWith("| `cupola.dev/"))
    .map((line) => line.split("|")[1])
    .join("\n"),
);

describe("docs/labels.md", () => {
  test("lists the stable keys, and no others", () => {
    expect([...listed].sort()).toEqual(Object.values<string>(STABLE_LABELS).sort());
  });

  test.each(Object.values(OBSERVE_LABELS))("names %s among those to observe", (key) => {
    expect(keysIn(observe)).toContain(key);
  });

  test("has its tiers in their order", () => {
    expect([stable, observe].map((part) => part.split(":")[0])).toEqual(["Stable", "Observe"]);
  });
});
