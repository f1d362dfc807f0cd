// Phases of a start as they are read from changes and from containerd's lines.
import { expect, test } from "vitest";
import { LABELS } from "../../../crds/labels.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import { readContainerTimes } from "./containers.ts";
import { gateDelays, ownPart, phasesOfStart, type Change } from "./phases.ts";

const LOG = `2026-01-01 00:00:01.5 +0000 UTC k8s.io /tasks/start {"container_id":"c1","pid":7}
2026-01-01 00:00:01.7 +0000 UTC k8s.io /tasks/exit {"container_id":"c1","id":"probe","pid":8,"exit_status":0}
2026-01-01 00:00:02 +0000 UTC k8s.io /tasks/exit {"container_id":"c1","id":"c1","pid":7,"exit_status":0}
2026-01-01 00:00:02 +0000 UTC k8s.io /images/create {"name":"x"}
`;
const T = Date.parse("2026-01-01T00:00:00Z");

test("a container's times are its own process's", () => {
  expect(readContainerTimes(LOG)).toEqual(new Map([["c1", { started: T + 1500, exited: T + 2000 }]]));
});

function change(at: number, kind: string, more: object = {}, type: Change["type"] = "ADDED"): Change {
  const metadata = { name: "x", uid: kind, ...(kind === "Pod" && { labels: { [LABELS.lrp]: "x" } }) };
  return { at: T + at, type, kind, object: { apiVersion: "v1", kind, metadata, ...more } as KubeObject };
}

const gated = { schedulingGates: [{ name: "g" }] };
const bound = { nodeName: "n" };
const running = {
  containerStatuses: [{ name: "application", containerID: "containerd://c1" }],
  conditions: [{ type: "Ready", status: "True" }],
};
const CHANGES = [
  // A change of the start before.
  change(5, "Deployment", { metadata: { name: "x", uid: "old" } }, "DELETED"),
  change(10, "LRP"),
  change(30, "Deployment"),
  change(40, "Pod", { spec: gated }),
  change(70, "Pod", { spec: {} }, "MODIFIED"),
  change(80, "Pod", { spec: bound }, "MODIFIED"),
  change(1900, "Pod", { spec: bound, status: running }, "MODIFIED"),
];

test("phases follow each other from the request to the answer, and each has its owner", () => {
  const phases = phasesOfStart({
    begunAt: T,
    answeredAt: T + 2000,
    changes: CHANGES,
    containers: readContainerTimes(LOG),
  });
  expect(phases.map(({ owner, ms }) => [owner, ms])).toEqual([
    ["cupola", 10],
    ["cupola", 20],
    ["kubernetes", 10],
    ["cupola", 30],
    ["kubernetes", 10],
    ["kubelet", 1420],
    ["kubelet", 400],
    ["kubernetes", 100],
  ]);
  expect(ownPart(phases)).toBe(180);
  expect(ownPart(phases, ["cupola"])).toBe(60);
});

test("what was not seen is named", () => {
  const facts = {
    begunAt: T,
    answeredAt: T,
    changes: CHANGES.filter(({ kind }) => kind !== "LRP"),
    containers: new Map(),
  };
  expect(() => phasesOfStart(facts)).toThrow("no LRP was seen");
});

test("a gate's delay is counted from the pod's creation", () => {
  expect(gateDelays(CHANGES)).toEqual([30]);
});
