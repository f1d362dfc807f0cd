// Changes of an app's lifecycle.
import { expect, test } from "vitest";
import type { App } from "../../crds/app/app.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import { toAppPatch, updateAppBody } from "./payload.ts";

const cache = { store: () => ({ list: () => [] }) } as unknown as ClusterCache;

function patchOf(own: string, lifecycle: object): object {
  const app = { metadata: {}, spec: { lifecycle: { type: own } } } as App;
  return toAppPatch(cache, app, updateAppBody.parse({ lifecycle })).spec;
}

const data = { buildpacks: ["docker://registry.example/go"] };

test.each([
  ["cnb", undefined],
  ["cnb", null],
  ["cnb", "cnb"],
  ["buildpack", undefined],
  ["buildpack", null],
  ["buildpack", "buildpack"],
])("an app of type %s keeps it when a change names %s", (own, type) => {
  expect(patchOf(own, { type, data })).toEqual({ lifecycle: data });
});

test.each([
  ["cnb", "buildpack", "buildpack"],
  ["buildpack", "cnb", "cnb"],
  ["docker", undefined, "buildpack"],
])("an app of type %s cannot change: %s", (own, type, to) => {
  expect(() => patchOf(own, { type, data })).toThrow(`Lifecycle type cannot be changed from ${own} to ${to}`);
});
