// Builds as CF shows them.
import { expect, test } from "vitest";
import { aBuild, aDroplet, anApp, aPackage } from "../../crds/testing/objects.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { cacheOf } from "../cache/testing/cache-of.ts";
import { buildState, presentBuild } from "./present.ts";

const finishedAt = Date.parse("2026-01-01T00:00:00Z");
const staged = {
  state: "Staged",
  droplet: "d1",
  conditions: [{ type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" }],
};

interface Seen {
  status?: object;
  droplet?: KubeObject;
  ageMs?: number;
}

test.each<[string, Seen, string]>([
  ["without a status", {}, "STAGING"],
  ["that failed", { status: { state: "Failed" } }, "FAILED"],
  ["with its droplet", { status: staged, droplet: aDroplet({}, "d1") }, "STAGED"],
  ["whose droplet the cache does not show yet", { status: staged }, "STAGING"],
  ["whose droplet was deleted", { status: staged, ageMs: 10_000 }, "STAGED"],
])("a build %s", (_what, { status, droplet, ageMs = 1 }, expected) => {
  const build = aBuild({}, status && { status });
  expect(buildState(cacheOf(...(droplet ? [droplet] : [])), build, finishedAt + ageMs)).toBe(expected);
});

test("its droplet, package, app and error", () => {
  const cache = cacheOf(anApp(), aPackage(), aDroplet({}, "d1"));
  expect(presentBuild(cache, aBuild({}, { status: staged }), "https://api")).toMatchObject({
    guid: "uid-b1",
    error: null,
    package: { guid: "uid-p1" },
    droplet: { guid: "uid-d1" },
    relationships: { app: { data: { guid: "uid-shop" } } },
    links: { droplet: { href: "https://api/v3/droplets/uid-d1" } },
  });
  const error = { code: "NoAppDetectedError", message: "no buildpack fits" };
  expect(presentBuild(cache, aBuild({}, { status: { state: "Failed", error } }), "https://api")).toMatchObject({
    state: "FAILED",
    error: "NoAppDetectedError - no buildpack fits",
    droplet: null,
  });
});
