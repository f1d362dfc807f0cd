// A patch in a pod template: the platform's own fields win.
import { expect, test } from "vitest";
import type { PodPatch } from "./judge.ts";
import { adjustTemplate, foldPatches } from "./merge.ts";

const template = {
  metadata: { labels: { "cupola.dev/lrp": "shop" }, annotations: { "cupola.dev/app-name": "Shop" } },
  spec: {
    schedulingGates: [{ name: "cupola.dev/index" }],
    terminationGracePeriodSeconds: 15,
    tolerations: [{ key: "node.kubernetes.io/not-ready" }],
    affinity: { podAntiAffinity: { ours: true } },
    containers: [
      {
        name: "application",
        image: "shop",
        resources: { requests: { cpu: "25m", memory: "256Mi" }, limits: { memory: "256Mi" } },
      },
      { name: "sidecar-proxy", image: "shop" },
    ],
  },
};
const containersOf = ({ spec }: { spec: Record<string, unknown> }): unknown[] => spec["containers"] as unknown[];

test("nothing changes without a patch", () => expect(adjustTemplate(template, {})).toEqual(template));

test("maps are merged, lists of tolerations are added to, others are replaced", () => {
  const patch: PodPatch = {
    metadata: { labels: { team: "shop" }, annotations: { note: "x" } },
    spec: {
      tolerations: [{ key: "gpu" }],
      affinity: { nodeAffinity: { theirs: true } },
      topologySpreadConstraints: [{ topologyKey: "rack" }],
      nodeSelector: { disk: "ssd" },
      containers: [{ name: "application", resources: { requests: { cpu: "250m" } } }],
    },
  };
  expect(adjustTemplate(template, patch)).toEqual({
    metadata: {
      labels: { team: "shop", "cupola.dev/lrp": "shop" },
      annotations: { note: "x", "cupola.dev/app-name": "Shop" },
    },
    spec: {
      ...template.spec,
      tolerations: [{ key: "node.kubernetes.io/not-ready" }, { key: "gpu" }],
      affinity: { podAntiAffinity: { ours: true }, nodeAffinity: { theirs: true } },
      topologySpreadConstraints: [{ topologyKey: "rack" }],
      nodeSelector: { disk: "ssd" },
      containers: [
        {
          name: "application",
          image: "shop",
          resources: { requests: { cpu: "250m", memory: "256Mi" }, limits: { memory: "256Mi" } },
        },
        { name: "sidecar-proxy", image: "shop" },
      ],
    },
  });
});

test("the platform's own labels and annotations, and its grace, win", () => {
  const patch: PodPatch = {
    metadata: {
      labels: { "cupola.dev/lrp": "other", "cupola.dev/guid": "x" },
      annotations: { "cupola.dev/app-name": "Evil" },
    },
    spec: { terminationGracePeriodSeconds: 5 },
  };
  expect(adjustTemplate(template, patch)).toEqual(template);
  expect(adjustTemplate(template, { spec: { terminationGracePeriodSeconds: 60 } }).spec).toMatchObject({
    terminationGracePeriodSeconds: 60,
  });
});

test("a container that is not there is not added", () => {
  const patch: PodPatch = { spec: { containers: [{ name: "other", resources: { requests: { cpu: "1" } } }] } };
  expect(adjustTemplate(template, patch)).toEqual(template);
});

test("a CPU request is no more than the limit", () => {
  const limited = {
    ...template,
    spec: { containers: [{ name: "application", resources: { requests: { cpu: "500m" }, limits: { cpu: "500m" } } }] },
  };
  const patch: PodPatch = { spec: { containers: [{ name: "application", resources: { requests: { cpu: "2" } } }] } };
  expect(containersOf(adjustTemplate(limited, patch))).toEqual([
    { name: "application", resources: { requests: { cpu: "500m" }, limits: { cpu: "500m" } } },
  ]);
});

test("several patches are one, the later of two counts", () => {
  const one: PodPatch = {
    metadata: { labels: { a: "1", b: "1" } },
    spec: {
      tolerations: [{ key: "a" }],
      priorityClassName: "low",
      containers: [{ name: "application", resources: { requests: { cpu: "1" }, limits: { cpu: "2" } } }],
    },
  };
  const other: PodPatch = {
    metadata: { labels: { b: "2" } },
    spec: {
      tolerations: [{ key: "b" }],
      priorityClassName: "high",
      containers: [{ name: "application", resources: { requests: { cpu: "1500m" } } }],
    },
  };
  expect(foldPatches([one, other])).toEqual({
    metadata: { labels: { a: "1", b: "2" }, annotations: {} },
    spec: {
      tolerations: [{ key: "a" }, { key: "b" }],
      priorityClassName: "high",
      containers: [{ name: "application", resources: { requests: { cpu: "1500m" }, limits: { cpu: "2" } } }],
    },
  });
  expect(foldPatches([])).toEqual({});
});
