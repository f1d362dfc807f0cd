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
