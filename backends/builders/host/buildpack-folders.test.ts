// Which folder a buildpack's name means.
import { expect, test } from "vitest";
import { toFolders } from "./buildpack-folders.ts";
import { bundledFolder } from "./bundled-buildpacks.ts";

test("buildpacks are found by name, classic name and path", () => {
  expect(
    toFolders([{ name: "nodejs_buildpack" }, { name: "mine", path: "/opt/bp" }, { name: "x", path: "staticfile" }]),
  ).toEqual([
    { name: "nodejs_buildpack", folder: bundledFolder("nodejs") },
    { name: "mine", folder: "/opt/bp" },
    { name: "x", folder: bundledFolder("staticfile") },
  ]);
  expect(() => toFolders([{ name: "cobol" }])).toThrow(/it takes java, go, .*, nodejs, staticfile, procfile/);
});
