// Objects that a Staging becomes for kpack, and its status by kpack's.
import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { Staging } from "../../../crds/staging/staging.ts";
import { toKpackProgress } from "./build-progress.ts";
import type { KpackBuildStatus } from "./kpack-build.ts";
import { parseKpackParameters } from "./parameters.ts";
import { planCredentials, planKpackBuild } from "./plan-build.ts";

const guid = (digit: number): string => `0000000${digit}-0000-4000-8000-000000000000`;

const staging = {
  apiVersion: "workloads.cupola.dev/v1alpha1",
  kind: "Staging",
  metadata: {
    name: "shop-1",
    namespace: "acme-dev",
    uid: "u",
    labels: { "cupola.dev/app-guid": guid(1), "cupola.dev/source-type": "STG", "cupola.dev/managed-by": "build" },
  },
  spec: Staging.spec.parse({
    class: "kpack",
    app: { guid: guid(1), name: "My Shop" },
    space: { guid: guid(2), name: "dev" },
    org: { guid: guid(3), name: "Acme Inc." },
    buildGUID: guid(4),
    lifecycleType: "buildpack",
    package: { type: "bits", content: { digest: `sha256:${"1".repeat(64)}`, size: 7 } },
    buildpacks: [],
    detect: true,
    env: [
      { name: "PLAIN", value: "5" },
      { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "shop-env", key: "PASSWORD" } } },
    ],
    memoryMB: 1024,
    diskMB: 4096,
  }),
} as unknown as Staging;

test("the objects of a build", async () => {
  const build = planKpackBuild({
    staging,
    builderImage: "registry.example.com/builder:1",
    runImage: undefined,
    registryPrefix: "registry.example.com/cf",
    content: `sha256:${"1".repeat(64)}`,
    secondsLeft: 900,
  });
  const text = [...planCredentials(staging, "{}"), build]
    .map((draft) => stringify(draft, { lineWidth: 0, aliasDuplicateObjects: false }))
    .join("---\n");
  await expect(text).toMatchFileSnapshot("kpack-build.golden.yaml");
});

test.each([
  [{ builderImage: "r/b:1" }, []],
  [{}, ["builderImage is missing: name an image with buildpacks"]],
  [
    { builderImage: "r/b:1", platformImage: "x" },
    ["platformImage is no parameter of it; there are builderImage, runImage"],
  ],
])("the parameters %j", (given: Record<string, string>, problems) => {
  const parsed = parseKpackParameters(given);
  expect("problems" in parsed ? parsed.problems : []).toEqual(problems);
});

describe("kpack's status", () => {
  const progress = (status: KpackBuildStatus): unknown =>
    toKpackProgress({ apiVersion: "kpack.io/v1alpha2", kind: "Build", metadata: { name: "b" }, status });
  const condition = (status: string, more: object = {}) => [{ type: "Succeeded", status, ...more }];
  const ended = (...codes: number[]) => ({
    stepStates: codes.map((exitCode) => ({ terminated: { exitCode, finishedAt: "2026-11-22T08:00:00Z" } })),
  });

  test.each<[string, KpackBuildStatus, object]>([
    ["none yet", {}, { kind: "running", reason: "Building" }],
    [
      "an image that cannot be pulled yet",
      { conditions: condition("Unknown", { reason: "ErrImagePull", message: "no route" }) },
      { kind: "running", reason: "ErrImagePull", message: "no route" },
    ],
    [
      "success",
      { conditions: condition("True"), latestImage: "r/a@sha256:1" },
      { kind: "exported", image: "r/a@sha256:1" },
    ],
    [
      "no buildpack fits",
      { conditions: condition("False", { message: "Error: " }), ...ended(0, 0, 20) },
      { kind: "failed", code: "NoAppDetectedError", at: "2026-11-22T08:00:00Z" },
    ],
    [
      "a buildpack fails",
      { conditions: condition("False"), ...ended(0, 0, 0, 0, 51) },
      { kind: "failed", code: "BuildpackCompileFailed", message: "a buildpack failed; the log says why" },
    ],
    [
      "its first step fails, of which kpack says nothing",
      { conditions: condition("False"), ...ended(1) },
      { kind: "failed", code: "StagingError", message: "the phase prepare ended with exit code 1; the log says why" },
    ],
    [
      "memory is short",
      { conditions: condition("False"), stepStates: [{ terminated: { exitCode: 137, reason: "OOMKilled" } }] },
      { kind: "failed", code: "InsufficientResources" },
    ],
    [
      "its time is up",
      { conditions: condition("False", { message: "Pod was active on the node longer than the specified deadline" }) },
      { kind: "failed", code: "StagingTimeExpired" },
    ],
    [
      "anything else",
      { conditions: condition("False", { message: "quota" }) },
      { kind: "failed", code: "StagingError", message: "kpack could not build: quota" },
    ],
  ])("%s", (_what, status, expected) => expect(progress(status)).toMatchObject(expected));
});
