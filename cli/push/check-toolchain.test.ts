// Which bundled buildpacks are asked what they need of this machine, and which answers refuse a push.
import { expect, test } from "vitest";
import type { Resource } from "../api/client.ts";
import { leavesOut, toCandidates, toRefusal } from "./check-toolchain.ts";

const listed = (...names: string[]): Resource[] =>
  names.map((name) => ({ guid: name, name, enabled: true }) as Resource);

test.each<[string, Resource[], unknown, string[]]>([
  ["the platform's order", listed("go_buildpack", "java_buildpack"), undefined, ["go", "java"]],
  ["up to one that is not bundled, which may fit", listed("go_buildpack", "rust", "java_buildpack"), undefined, ["go"]],
  [
    "without disabled ones",
    [{ guid: "1", name: "rust", enabled: false } as Resource, ...listed("php_buildpack")],
    undefined,
    ["php"],
  ],
  ["those that the user names", listed("go_buildpack"), ["python", "php_buildpack"], ["python", "php"]],
  ["none where the user names another", listed("go_buildpack"), ["go", "https://git.example/x.git"], []],
])("%s", (_title, buildpacks, named, expected) => {
  expect(toCandidates(buildpacks, named)).toEqual(expected);
});

test("a missing toolchain refuses the push with the next step", () => {
  const refusal = toRefusal({ code: 1, said: "Go is not installed. Next: install it" }, "shop");
  expect(refusal).toMatchObject({
    message: "shop cannot be built here: Go is not installed",
    next: "install it, then: cup push shop",
  });
});

test.each([
  ["of a check that passed", { code: 0, said: "" }],
  ["of a check that did not end in time", { code: undefined, said: "" }],
  ["of a check that was killed while it spoke", { code: undefined, said: "Go is not installed. Next: install it" }],
  ["of an error in the check itself", { code: 1, said: "TypeError: x is undefined\n    at file.mjs:1:1" }],
])("no refusal comes %s", (_title, answer) => {
  expect(toRefusal(answer, "shop")).toBeUndefined();
});

test.each<[string, string[], string[], boolean]>([
  ["everything is pushed", ["package.json", "src"], ["package.json", "src/a.js"], false],
  ["what no buildpack looks at is left out", [".git", "manifest.yml", "node_modules", "a.js"], ["a.js"], false],
  ["a Gemfile is left out", ["Gemfile", "package.json"], ["package.json"], true],
  ["a folder is left out", ["public", "package.json"], ["package.json"], true],
])("%s", (_title, names, paths, expected) => {
  const files = paths.map((path) => ({ path }));
  expect(leavesOut(names, files)).toBe(expected);
});
