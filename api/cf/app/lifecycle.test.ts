// Which names of buildpacks an app may have: installed ones, those of a builder image, and URLs.
import { expect, test } from "vitest";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { Buildpack } from "../../../crds/buildpack/buildpack.ts";
import type { ClusterCache } from "../../cache/cluster-cache.ts";
import { findUnknownBuildpack } from "./lifecycle.ts";

const objects = new Map<unknown, object[]>([
  [Buildpack, [{ spec: { name: "nodejs_buildpack" } }]],
  [
    BackendClass,
    [
      {
        spec: { role: "builder" },
        status: { capabilities: { buildpacks: "paketo-buildpacks/go,paketo-buildpacks/java" } },
      },
      { spec: { role: "builder" } },
      { spec: { role: "runner" }, status: { capabilities: { buildpacks: "no/builder" } } },
    ],
  ],
]);
const cache = { store: (kind: unknown) => ({ list: () => objects.get(kind) ?? [] }) } as unknown as ClusterCache;

test("a folder, where a builder builds on its own machine", () => {
  const builder = { spec: { role: "builder" }, status: { capabilities: { isolation: "none" } } };
  const onLaptop = { store: (kind: unknown) => ({ list: () => (kind === BackendClass ? [builder] : []) }) };
  expect(findUnknownBuildpack(onLaptop as unknown as ClusterCache, ["/opt/buildpack"])).toBeUndefined();
});

test.each<[string, string[] | null | undefined, string | undefined]>([
  ["an installed one", ["nodejs_buildpack"], undefined],
  ["those of a builder image", ["paketo-buildpacks/go", "java_buildpack", "go@1.2"], undefined],
  ["a URL", ["https://example.org/buildpack.git"], undefined],
  ["an image of a registry", ["docker://registry.example/buildpacks/go:1"], undefined],
  ["a folder, where no builder takes folders", ["/opt/buildpack"], "/opt/buildpack"],
  ["one that nobody has", ["java_buildpack", "cobol"], "cobol"],
  ["what another class says", ["no/builder"], "no/builder"],
  ["none", null, undefined],
])("%s", (_what, names, unknown) => expect(findUnknownBuildpack(cache, names)).toBe(unknown));
