// Which refusals of unknown buildpacks name a next step.
import { expect, test } from "vitest";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { Buildpack } from "../../../crds/buildpack/buildpack.ts";
import type { ClusterCache } from "../../cache/cluster-cache.ts";
import { adviseMissingBuildpack } from "./missing-buildpack.ts";

function cacheOf(isolation: string, installed: string[]): ClusterCache {
  const objects = new Map<unknown, object[]>([
    [Buildpack, installed.map((name) => ({ spec: { name } }))],
    [BackendClass, [{ spec: { role: "builder" }, status: { capabilities: { isolation } } }]],
  ]);
  return { store: (kind: unknown) => ({ list: () => objects.get(kind) ?? [] }) } as unknown as ClusterCache;
}

const IMAGE = "a Cloud Native Buildpack of a registry (-b docker://IMAGE)";

test.each<[string, string, string[], string]>([
  ["r_buildpack", "none", [], `. It is not available here. Name ${IMAGE}`],
  ["nginx_buildpack", "none", [], `. It is not available here. Name ${IMAGE}`],
  [
    "nginx_buildpack",
    "none",
    ["staticfile_buildpack"],
    `. It is not available here. Name -b staticfile_buildpack, which serves files, or ${IMAGE}`,
  ],
  ["wut", "none", [], ""],
  ["r_buildpack", "pods", [], ""],
])("%s, builds with isolation %s, %j installed", (name, isolation, installed, advice) => {
  expect(adviseMissingBuildpack(cacheOf(isolation, installed), name)).toBe(advice);
});
