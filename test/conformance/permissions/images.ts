// Our kinds name no image of another space: refused for everybody, in words that `cf push` shows, before a pod would be.
import { beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../kubernetes/api.ts";
import { eventually } from "../../eventually.ts";
import { base, makeOrgAndSpace, type GetTestEnv, type OrgAndSpace } from "./test-env.ts";

const WORKLOADS = "/apis/workloads.cupola.dev/v1alpha1";
const CONFIG = "/api/v1/namespaces/cupola-system/configmaps";
const person = { guid: "g", name: "n" };
const workload = { class: "any", app: person, space: person, org: person, memoryMB: 64, diskMB: 64 };
const droplet = (image: string): Json => ({ guid: "g", kind: "docker", image });

/** Path, kind, and spec with an image. */
const KINDS: [string, string, string, (image: string) => Json][] = [
  [base, "packages", "Package", (image) => ({ appRef: { name: "a" }, type: "docker", image })],
  [base, "droplets", "Droplet", (image) => ({ appRef: { name: "a" }, kind: "docker", image })],
  [
    WORKLOADS,
    "lrps",
    "LRP",
    (image) => ({
      ...workload,
      rendering: "1",
      processGUID: "g",
      processType: "web",
      revision: "1",
      version: "1",
      droplet: droplet(image),
      instances: 1,
      ports: [8080],
      healthCheck: { type: "port" },
      readinessHealthCheck: { type: "process" },
    }),
  ],
  [
    WORKLOADS,
    "taskruns",
    "TaskRun",
    (image) => ({ ...workload, taskGUID: "g", taskName: "t", command: "true", droplet: droplet(image) }),
  ],
  [
    WORKLOADS,
    "stagings",
    "Staging",
    (image) => ({
      ...workload,
      buildGUID: "g",
      lifecycleType: "docker",
      package: { type: "docker", image },
      buildpacks: [],
      detect: true,
    }),
  ],
];

export function imageTests(get: GetTestEnv): void {
  describe("images of spaces", () => {
    let home: OrgAndSpace;
    beforeAll(async () => {
      home = await makeOrgAndSpace(get(), "images");
      const made = await get().kubernetes.post(CONFIG, {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "cupola-registry" },
        data: { prefix: "registry.example/apps" },
      });
      expect(made.status).toBe(201);
      return async () => void (await get().kubernetes.delete(`${CONFIG}/cupola-registry`));
    });

    test.each(KINDS)("%s/%s below the prefix are the space's own", async (group, plural, kind, spec) => {
      const create = (image: string) =>
        get().kubernetes.post(`${group}/namespaces/${home.spaceNamespace}/${plural}?dryRun=All`, {
          apiVersion: group.replace("/apis/", ""),
          kind,
          metadata: { name: "tried" },
          spec: spec(image),
        });
      await eventually(async () => {
        const { status, body } = await create("registry.example/apps/another-space/app:1");
        expect([status, body.message]).toEqual([
          422,
          expect.stringContaining("this image belongs to another space of this platform"),
        ]);
      });
      for (const image of ["Registry.example:443/apps/another-space/app", "registry.example/apps/shared"])
        expect([image, (await create(image)).status]).toEqual([image, 422]);
      for (const image of [
        `registry.example/apps/${home.space}/apps/shop:1`,
        "busybox",
        "registry.example/apps-of-others/x",
      ])
        expect([image, (await create(image)).status]).toEqual([image, 201]);
    });
  });
}
