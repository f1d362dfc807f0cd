// Which folder a buildpack's name means.
import { expect, test } from "vitest";
import { toFolder } from "./buildpack-folders.ts";
import { bundledFolder } from "./bundled-buildpacks.ts";

test("buildpacks are found by name, classic name and path", () => {
  expect(["nodejs_buildpack", "/opt/bp", "staticfile"].map(toFolder)).toEqual([
    bundledFolder("nodejs"),
    "/opt/bp",
    bundledFolder("staticfile"),
  ]);
  expect(() => toFolder("cobol")).toThrow(/it takes java, go, .*, nodejs, staticfile, procfile/);
});
