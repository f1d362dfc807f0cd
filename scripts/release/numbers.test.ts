// Four files have one number, and the section of the changelog that belongs to it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { findSection, listMismatches, NUMBERED_FILES, setVersion, versionOf, type NumberedFiles } from "./numbers.ts";

const root = join(import.meta.dirname, "..", "..");
const own = Object.fromEntries(
  NUMBERED_FILES.map((name) => [name, readFileSync(join(root, name), "utf8")]),
) as unknown as NumberedFiles;

test("this checkout has one number", () => expect(listMismatches(own, versionOf(own))).toEqual([]));

describe("a release", () => {
  const files = setVersion(own, "9.1.0", "2027-01-31");

  test("has its number everywhere, and nothing else changes", () => {
    expect(listMismatches(files, "9.1.0")).toEqual([]);
    expect(listMismatches(own, "9.1.0")).toHaveLength(5);
    for (const name of ["package.json", "package-lock.json", "deploy/helm/cupola/Chart.yaml"] as const) {
      const lines = files[name].split("\n");
      const changed = own[name].split("\n").filter((line, at) => line !== lines[at]);
      expect(changed.every((line) => /version"?:/i.test(line))).toBe(true);
      expect(lines).toHaveLength(own[name].split("\n").length);
    }
  });

  test("takes what was unreleased", () => {
    expect(findSection(files["CHANGELOG.md"], "9.1.0")).toBe(findSection(own["CHANGELOG.md"], "Unreleased"));
    expect(findSection(files["CHANGELOG.md"], "Unreleased")).toBe("");
    expect(files["CHANGELOG.md"]).toContain("\n## 9.1.0 (2027-01-31)\n");
  });

  test.each([
    ["latest", own, /latest is no version/],
    ["v1.0.0", own, /v1.0.0 is no version/],
    ["0.0.1", own, /0.0.1 is older than/],
    ["9.1.0", files, /has a section 9.1.0 already/],
    ["9.2.0", files, /has nothing below "Unreleased"/],
  ])("%s is refused in words", (version, from, sentence) => {
    expect(() => setVersion(from, version, "2027-01-31")).toThrow(sentence);
  });
});

test("sections end at the next heading", () => {
  const text = "# Changelog\n\n## 0.2.0 (x)\n\n- two\n\n### Operators\n\n- more\n\n## 0.1.0\n\n- one\n";
  expect(findSection(text, "0.2.0")).toBe("- two\n\n### Operators\n\n- more");
  expect(findSection(text, "0.1.0")).toBe("- one");
  expect(findSection(text, "0.1")).toBeUndefined();
});
