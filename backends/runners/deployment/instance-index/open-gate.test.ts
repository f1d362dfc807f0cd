// The patch that opens a gate, whatever else the pod carries.
import { expect, test } from "vitest";
import type { PodObject } from "../../../pods/slim-pod.ts";
import { indexLabelOf, isGated, planGatePatch } from "./open-gate.ts";

const pod = (gates: string[], metadata: object = {}): PodObject =>
  ({
    metadata: { name: "p", uid: "u", labels: {}, annotations: {}, ...metadata },
    spec: { containers: [], schedulingGates: gates.map((name) => ({ name })) },
  }) as unknown as PodObject;

test("index, deletion cost and gate are one request, which a second one cannot repeat", () => {
  expect(planGatePatch(pod(["cupola.dev/index"]), 3)).toEqual({
    type: "json",
    body: [
      { op: "test", path: "/metadata/uid", value: "u" },
      { op: "test", path: "/spec/schedulingGates/0/name", value: "cupola.dev/index" },
      { op: "add", path: "/metadata/labels/cupola.dev~1instance-index", value: "3" },
      { op: "add", path: "/metadata/annotations/controller.kubernetes.io~1pod-deletion-cost", value: "-3" },
      { op: "remove", path: "/spec/schedulingGates/0" },
    ],
  });
});

test("the gates of others stay closed, and a pod without annotations gets some", () => {
  const { body } = planGatePatch(pod(["queue.example/wait", "cupola.dev/index"], { annotations: undefined }), 0);
  expect(body).toContainEqual({ op: "remove", path: "/spec/schedulingGates/1" });
  expect(body).toContainEqual({ op: "add", path: "/metadata/annotations", value: {} });
});

test("only our gate counts, and only a number is an index", () => {
  expect([isGated(pod(["queue.example/wait"])), isGated(pod(["cupola.dev/index"]))]).toEqual([false, true]);
  const labelled = (value: string): PodObject => pod([], { labels: { "cupola.dev/instance-index": value } });
  expect(["7", "x", "-1"].map((value) => indexLabelOf(labelled(value)))).toEqual([7, undefined, undefined]);
});
