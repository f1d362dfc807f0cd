// Which bundled buildpacks are asked what they need of this machine.
import { expect, test } from "vitest";
import type { Resource } from "../api/client.ts";
import { toCandidates } from "./check-toolchain.ts";

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
