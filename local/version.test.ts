// Which homes a version of Cupola may use.
import { expect, test } from "vitest";
import { cupolaVersion } from "../platform/version.ts";
import { refuseNewerHome } from "./version.ts";

test("the version is a version", () => {
  expect(cupolaVersion()).toMatch(/^\d+\.\d+\.\d+/);
});

test.each([
  ["of no version yet", undefined],
  ["of the same version", "1.2.0"],
  ["of an older version", "1.1.9"],
  ["of a version that is none", "latest"],
])("a home %s is used", (_what, newestVersion) => {
  expect(() => refuseNewerHome("/home/me/.cupola", { version: "1.2.0", newestVersion })).not.toThrow();
});

test("the home of a newer version is refused, with two ways out", () => {
  expect(() => refuseNewerHome("/home/me/.cupola", { version: "1.2.0", newestVersion: "1.10.0" })).toThrow(
    "/home/me/.cupola was last used by Cupola 1.10.0, and this is 1.2.0, which may not understand it. Install that version again, as you installed it then (from its checkout: npm pack && npm install --global ./cupola-1.10.0.tgz), or start with another --home",
  );
});
