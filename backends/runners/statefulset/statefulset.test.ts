// An LRP as a StatefulSet, and the index of its pods.
import { expect, test } from "vitest";
import { stringify } from "yaml";
import { LRP } from "../../../crds/lrp/lrp.ts";
import type { ReconcileContext } from "../../../kube/controller/controller.ts";
import type { PodObject } from "../../pods/slim-pod.ts";
import { planLRP, podIndexOf } from "./plan.ts";
import { statefulSetRunner } from "./statefulset.ts";

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

test("a pool of indexes is where the ordinals begin, and one with a gap is refused", async () => {
  const [set] = planLRP(lrp({ indexes: [{ start: 3, end: 9 }] })) ?? [];
  expect(set?.["spec"]).toMatchObject({ replicas: 2, ordinals: { start: 3 } });
  const gapped = lrp({
    indexes: [
      { start: 3, end: 3 },
      { start: 5, end: 9 },
    ],
  });
  const result = await statefulSetRunner()[0]?.reconcile(gapped, {} as ReconcileContext);
  expect(result?.status?.["instances"]).toMatchObject([
    { index: 3, state: "Crashed", details: expect.stringContaining("a gap before 5") as string },
    { index: 5, state: "Crashed" },
  ]);
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

test.each([
  [9, "Down", 14_000],
  [22, "Crashed", undefined],
])(
  "an image refused since second 2 is at second %i: %s, and looked at again in %s ms",
  async (second, state, again) => {
    const at = (of: number): Date => new Date(Date.UTC(2026, 0, 1, 0, 0, of));
    const index = { "apps.kubernetes.io/pod-index": "0", "cupola.dev/instance-index": "0" };
    const pod = {
      metadata: { name: "p", uid: "p", labels: index, creationTimestamp: at(0).toISOString() },
      status: {
        conditions: [{ type: "PodScheduled", status: "True", lastTransitionTime: at(2).toISOString() }],
        containerStatuses: [
          { name: "application", state: { waiting: { reason: "ErrImagePull", message: "401 Unauthorized" } } },
        ],
      },
    };
    const read = { list: () => [pod], byIndex: () => [] };
    const context = { read, now: () => at(second) } as unknown as ReconcileContext;
    const result = await statefulSetRunner()[0]?.reconcile(lrp({ instances: 1 }), context);
    expect(result?.status).toMatchObject({ instances: [{ state }] });
    expect(result?.requeueAfterMs).toBe(again);
  },
);
