// What an LRP becomes as a StatefulSet, and the index of its pods.
import { expect, test } from "vitest";
import { stringify } from "yaml";
import { LRP } from "../../../crds/lrp/lrp.ts";
import type { PodObject } from "../../pods/slim-pod.ts";
import { planLRP, podIndexOf } from "./plan.ts";

function lrp(change: object = {}): LRP {
  const spec: unknown = LRP.spec.parse({
    class: "statefulset",
    rendering: "3",
    app: { guid: "app", name: "shop" },
    space: { guid: "space", name: "dev" },
    org: { guid: "org", name: "acme" },
    processGUID: "app",
    processType: "web",
    revision: "7",
    version: "version",
    droplet: { guid: "droplet", kind: "docker", image: "example.com/shop:1", processTypes: {} },
    ports: [8080],
    instances: 2,
    memoryMB: 256,
    diskMB: 512,
    healthCheck: { type: "port" },
    readinessHealthCheck: { type: "process" },
    ...change,
  });
  return {
    apiVersion: "workloads.cupola.dev/v1alpha1",
    kind: "LRP",
    metadata: { name: "shop-web-0123456789", namespace: "acme-dev", labels: { "cupola.dev/app-guid": "app" } },
    spec: spec as LRP["spec"],
  };
}

test("an LRP with two instances", async () => {
  const drafts = planLRP(lrp())?.map((draft) => stringify(draft, { lineWidth: 0, aliasDuplicateObjects: false }));
  await expect(drafts?.join("---\n")).toMatchFileSnapshot("statefulset.golden.yaml");
});

test("one of an earlier release keeps its pods, and one of a later release is not rendered", () => {
  expect(JSON.stringify(planLRP(lrp({ rendering: "1" })))).toContain('"preStop":{"sleep":{"seconds":2}}');
  expect(planLRP(lrp({ rendering: "4" }))).toBeUndefined();
});

test("one instance gets no disruption budget", () => {
  expect(planLRP(lrp({ instances: 1 }))?.map(({ kind }) => kind)).toEqual(["StatefulSet"]);
});

test.each<[Record<string, string> | undefined, number | undefined]>([
  [{ "apps.kubernetes.io/pod-index": "0" }, 0],
  [{ "apps.kubernetes.io/pod-index": "12", "cupola.dev/instance-index": "3" }, 12],
  [{ "cupola.dev/instance-index": "3" }, undefined],
  [undefined, undefined],
])("a pod with labels %o has index %s", (labels, index) => {
  expect(podIndexOf({ metadata: { name: "pod", ...(labels && { labels }) } } as PodObject)).toBe(index);
});
