// Every error of the catalogue can occur, and a test meets it. The sources are read as text.
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { errorCatalogue } from "../../../api/http/errors.ts";

const root = new URL("../../../", import.meta.url).pathname;

function sourcesOf(pattern: string, isTest: boolean): string {
  return globSync(pattern, { cwd: root })
    .filter((path) => /\.(?:test|e2e)\.ts$/.test(path) === isTest && !path.endsWith("/errors.test.ts"))
    .map((path) => readFileSync(`${root}${path}`, "utf8"))
    .join("\n");
}

test("every error is thrown somewhere", () => {
  const thrown = sourcesOf("api/**/*.ts", false);
  const keys = Object.keys(errorCatalogue).filter((key) => !thrown.includes(`"${key}"`));
  expect(keys).toEqual([]);
});

test("a test meets every error", () => {
  const tests = ["api/**/*.ts", "test/conformance/**/*.ts"].map((pattern) => sourcesOf(pattern, true)).join("\n");
  const suites = ["suspension", "flags"].map((name) =>
    readFileSync(`${root}test/conformance/permissions/${name}.ts`, "utf8"),
  );
  const met = tests + suites.join("\n");
  const titles = Object.values(errorCatalogue).map(({ title }) => title);
  // An org that goes while a space is made in it: a race of milliseconds.
  expect(titles.filter((title) => !met.includes(`"${title}"`))).toEqual(["CF-ResourceBeingDeleted"]);
});
