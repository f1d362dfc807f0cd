// Answers to a client when the usage of instances is missing.
import { expect, test } from "vitest";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import type { LRP } from "../../../crds/lrp/lrp.ts";
import { aRunner } from "../../../crds/testing/objects.ts";
import type { ClusterCache } from "../../cache/cluster-cache.ts";
import type { Services } from "../../routing/services.ts";
import { measureInstances } from "./instance-usage.ts";

const lrp = { metadata: { name: "shop", namespace: "dev" }, spec: { class: "runner", app: { guid: "A" } } } as LRP;

test.each([
  ["a runner that does not answer", "http://runner", ["Stats server temporarily unavailable."]],
  ["a cluster where nobody measures", undefined, []],
])("%s", async (_name, endpoint, warnings) => {
  const runner = { ...aRunner(), status: { ...(endpoint !== undefined && { endpoint: { url: endpoint } }) } };
  const cache = {
    store: (ref: unknown) => ({ find: () => (ref === BackendClass ? runner : undefined) }),
  } as unknown as ClusterCache;
  const services = {
    telemetry: { stats: () => Promise.reject(new Error("away")) },
    readPodUsage: () => Promise.resolve(new Map()),
  } as unknown as Pick<Services, "telemetry" | "readPodUsage">;
  const told: string[] = [];
  expect(
    await measureInstances(cache, services, { lrp, appGUID: lrp.spec.app.guid }, (text) => told.push(text)),
  ).toEqual(new Map());
  expect(told).toEqual(warnings);
});

test("instances on other clusters are measured there, those here by their pods", async () => {
  const placed = { metadata: lrp.metadata, names: ["shop", "there"], spec: { ...lrp.spec, processGUID: "P" } };
  const time = "2026-01-01T00:00:00Z";
  const services = {
    telemetry: {
      stats: () =>
        Promise.resolve([
          { index: 1, lrpKey: "dev/there", usage: { time, cpu: 1, mem: 1 } },
          { index: 2, lrpKey: "dev/foreign", usage: { time, cpu: 1, mem: 2 } },
        ]),
    },
    readPodUsage: ({ name }: { name: string }) =>
      Promise.resolve(new Map(name === "shop" ? [[0, { time, cpu: 1, mem: 0 }]] : [])),
  } as unknown as Pick<Services, "telemetry" | "readPodUsage">;
  const cache = { store: () => ({ find: () => aRunner() }) } as unknown as ClusterCache;
  const usage = await measureInstances(cache, services, { lrp: placed, appGUID: "A" });
  expect([...usage].map(([index, { mem }]) => [index, mem])).toEqual([
    [0, 0],
    [1, 1],
  ]);
});
