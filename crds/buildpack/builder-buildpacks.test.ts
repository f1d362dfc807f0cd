// Names of buildpacks that are in a builder image, and what its class says of them.
import { expect, test } from "vitest";
import { mayHaveBuildpack, resolveBuildpackName, toBuildpackCapability } from "./builder-buildpacks.ts";

const known = ["cupola/nodejs", "cupola/procfile", "other/procfile"];

test.each<[string, string[], string | undefined]>([
  ["cupola/nodejs", ["cupola/nodejs"], undefined],
  ["urn:cnb:builder:cupola/nodejs@1.2", ["cupola/nodejs"], "1.2"],
  ["nodejs_buildpack", ["cupola/nodejs"], undefined],
  ["NodeJS-buildpack", ["cupola/nodejs"], undefined],
  ["procfile", ["cupola/procfile", "other/procfile"], undefined],
  ["java", [], undefined],
])("%s", (name, ids, version) => expect(resolveBuildpackName(name, known)).toEqual({ ids, version }));

test.each([
  ["dotnet_core_buildpack", "paketo-buildpacks/dotnet-core"],
  ["staticfile_buildpack", "paketo-buildpacks/web-servers"],
  ["binary_buildpack", "paketo-buildpacks/procfile"],
  ["nginx_buildpack", "paketo-buildpacks/nginx"],
])("of Cloud Foundry: %s is %s", (name, id) => {
  const ids = ["dotnet-core", "web-servers", "procfile", "nginx", "go"].map((one) => `paketo-buildpacks/${one}`);
  expect(resolveBuildpackName(name, ids).ids).toEqual([id]);
});

test("a class lists its buildpacks, and the API judges names by that list", () => {
  const capabilities = toBuildpackCapability(["b/two", "a/one"]);
  expect(capabilities).toEqual({ buildpacks: "a/one,b/two" });
  expect(["one_buildpack", "b/two@7", "three"].map((name) => mayHaveBuildpack(capabilities, name))).toEqual([
    true,
    true,
    false,
  ]);
  expect(toBuildpackCapability([])).toEqual({});
  expect(mayHaveBuildpack({}, "one")).toBe(false);
  expect(mayHaveBuildpack(undefined, "one")).toBe(false);
});

test("a list that is too long for a capability is cut between ids, and any name may be in it", () => {
  const ids = Array.from({ length: 100 }, (_, at) => `paketo-buildpacks/number-${at}`);
  const { buildpacks = "" } = toBuildpackCapability(ids);
  expect(buildpacks.length).toBeLessThanOrEqual(1024);
  expect(buildpacks).toMatch(/,paketo-buildpacks\/number-\d+,\.\.\.$/);
  expect(mayHaveBuildpack({ buildpacks }, "whatever")).toBe(true);
});
