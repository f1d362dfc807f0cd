// Why an instance of class statefulset was evicted, when only kubelet's Events still say it.
import { expect, test } from "vitest";
import { LRP, type LrpInstance } from "../../../crds/lrp/lrp.ts";
import { lrpSpec } from "../../../crds/testing/objects.ts";
import type { Reader } from "../../../kube/cache/reader.ts";
import { presentInstances } from "../../pods/instance-status.ts";
import type { PodObject } from "../../pods/slim-pod.ts";
import { listGonePods } from "./gone-pods.ts";
import { indexLabels, podIndexOf } from "./plan.ts";

const EVICTED_AT = "2026-01-01T00:01:00Z";
const FULL = "Pod ephemeral local storage usage exceeds the total limit of containers 64Mi. ";
const lrp = {
  kind: "LRP",
  metadata: { name: "shop", namespace: "dev" },
  spec: LRP.spec.parse(lrpSpec({ instances: 2, diskMB: 64 })),
} as LRP;

function pod(uid: string, status: object, metadata: object = {}): PodObject {
  return {
    kind: "Pod",
    metadata: { name: "shop-0", uid, labels: indexLabels(0), creationTimestamp: "2026-01-01T00:00:00Z", ...metadata },
    status,
  } as unknown as PodObject;
}

function readOf(...events: { reason: string; uid: string; message: string }[]): Reader {
  const objects = events.map(({ uid, ...event }) => ({
    metadata: { name: "e", creationTimestamp: EVICTED_AT },
    involvedObject: { name: "shop-0", uid },
    ...event,
  }));
  return { byIndex: (_ref: unknown, _index: string, name: string) => (name === "shop-0" ? objects : []) } as never;
}

function present(pods: PodObject[], read: Reader): LrpInstance | undefined {
  return presentInstances({
    lrp,
    pods: [...pods, ...listGonePods(read, lrp, pods)],
    indexOf: podIndexOf,
    probeFailures: () => [],
    now: new Date("2026-01-01T00:01:10Z"),
  })[0];
}

const evicted = { reason: "Evicted", uid: "old", message: FULL };
const details = expect.stringContaining("disk quota exceeded") as string;
const starting = pod("new", { phase: "Pending" });

test.each<[string, PodObject[], object]>([
  ["while the next one starts", [starting], { state: "Starting", details, crashCount: 1 }],
  ["before there is a next one", [], { state: "Crashed", details, crashCount: 1 }],
  [
    "while the StatefulSet controller deletes it",
    [pod("old", { phase: "Succeeded" }, { deletionTimestamp: EVICTED_AT })],
    { state: "Crashed", details, crashCount: 1 },
  ],
  [
    "once, when it is still there",
    [pod("old", { phase: "Failed", reason: "Evicted", message: FULL })],
    { crashCount: 1 },
  ],
])("%s", (_when, pods, expected) => expect(present(pods, readOf(evicted))).toMatchObject(expected));

test.each<[string, PodObject[], Reader]>([
  ["a pod that is about to be evicted has not been", [pod("old", { phase: "Running" })], readOf(evicted)],
  ["other Events are no evictions", [starting], readOf({ ...evicted, reason: "BackOff" })],
])("%s", (_what, pods, read) => expect(present(pods, read)).toEqual({ index: 0, state: "Starting", ready: false }));
