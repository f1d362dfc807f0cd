// Messages about pods that do not come or wait, and when to look again.
import { describe, expect, test } from "vitest";
import { INDEX_GATE } from "../../../crds/lrp/index-gate.ts";
import type { LRP, LrpInstance } from "../../../crds/lrp/lrp.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import type { ReconcileContext } from "../../../kube/controller/controller.ts";
import type { PodObject } from "../../pods/slim-pod.ts";
import { createWaitingPodEvents, describeMissingPods, nextLook, startHasNews } from "./waiting-pods.ts";

const at = (second: number): Date => new Date(Date.UTC(2026, 0, 1, 0, 0, second));
const time = (second: number): string => at(second).toISOString();

const gated = (second: number, metadata: object = {}): PodObject =>
  ({
    kind: "Pod",
    metadata: { name: "p", uid: `p${second}`, creationTimestamp: time(second), ...metadata },
    spec: { containers: [], schedulingGates: [{ name: INDEX_GATE }] },
  }) as unknown as PodObject;

const refused = (second: number): PodObject =>
  ({
    kind: "Pod",
    metadata: { name: "p", uid: "p", creationTimestamp: time(0) },
    spec: { containers: [] },
    status: {
      conditions: [{ type: "PodScheduled", status: "True", lastTransitionTime: time(second) }],
      containerStatuses: [
        { name: "application", state: { waiting: { reason: "ErrImagePull", message: "401 Unauthorized" } } },
      ],
    },
  }) as unknown as PodObject;

const failed = (message: string) => ({
  status: { conditions: [{ type: "ReplicaFailure", status: "True", reason: "FailedCreate", message }] },
});

describe("instances without a pod", () => {
  test.each<[string, ReturnType<typeof failed> | undefined, PodObject[], object | undefined]>([
    ["pods on their way", undefined, [], undefined],
    ["a gate that was closed a moment ago", undefined, [gated(6)], undefined],
    ["a gate that nobody opens", undefined, [gated(1)], { state: "Down", problem: { kind: "waitsForIndex" } }],
    ["a pod that goes", undefined, [gated(1, { deletionTimestamp: time(2) })], undefined],
    [
      "a quota",
      failed(
        'pods "shop-7d4-x8x2p" is forbidden: exceeded quota: few, requested: pods=1, used: pods=0, limited: pods=0',
      ),
      [],
      {
        state: "Down",
        problem: { kind: "quotaExceeded", why: "few, requested: pods=1, used: pods=0, limited: pods=0" },
      },
    ],
    [
      "a policy",
      failed('pods "shop-7d4-x8x2p" is forbidden: violates PodSecurity "restricted:latest"'),
      [],
      { state: "Crashed", problem: { kind: "cannotStart", why: 'violates PodSecurity "restricted:latest"' } },
    ],
  ])("%s", (_what, deployment, pods, expected) =>
    expect(describeMissingPods(deployment, pods, { now: at(7) })).toEqual(expected),
  );
});

test("a gate that is closed on purpose is no news until that is over", () => {
  const moment = (second: number) => ({ now: at(second), waitMs: 10_000 });
  expect(describeMissingPods(undefined, [gated(1)], moment(15))).toBeUndefined();
  expect(describeMissingPods(undefined, [gated(1)], moment(16))).toMatchObject({ problem: { kind: "waitsForIndex" } });
});

describe("the first status of an LRP", () => {
  const starting: LrpInstance = { index: 0, state: "Starting", ready: false };
  const lrp = (status?: object): LRP => ({ metadata: { creationTimestamp: time(0) }, status }) as unknown as LRP;
  test.each<[string, LRP, LrpInstance[], number, boolean]>([
    ["is not written while instances start as they should", lrp(), [starting], 1, false],
    ["is written when they run", lrp(), [{ ...starting, state: "Running" }], 1, true],
    ["is written when there is something to say", lrp(), [{ ...starting, details: "x" }], 1, true],
    ["is written after some seconds", lrp(), [starting], 3, true],
    ["is written without instances", lrp(), [], 1, true],
    ["is followed by every difference", lrp({ instances: [] }), [starting], 1, true],
  ])("%s", (...[, of, instances, second, expected]) =>
    expect(startHasNews(instances, { lrp: of, now: at(second) })).toBe(expected),
  );

  test.each<[string, LRP, PodObject[], number, number | undefined]>([
    ["a quiet start", lrp(), [], 1, 3_000],
    ["a closed gate", lrp({ instances: [] }), [gated(0)], 1, 5_000],
    ["nothing that time changes", lrp({ instances: [] }), [], 1, undefined],
    ["an image refused at kubelet's first attempt", lrp({ instances: [] }), [refused(2)], 9, 14_000],
    ["an image refused for long", lrp({ instances: [] }), [refused(2)], 22, undefined],
    ["a gate that has been closed for long", lrp({ instances: [] }), [gated(0)], 9, undefined],
  ])("time changes %s", (...[, of, pods, second, expected]) =>
    expect(nextLook(of, pods, { now: at(second) })).toBe(expected),
  );
});

test("each pod that waits gets one Event", () => {
  const recorded: string[] = [];
  const recordEvent: ReconcileContext["recordEvent"] = ({ metadata }: KubeObject, { reason }) =>
    void recorded.push(`${metadata.uid} ${reason}`);
  const record = createWaitingPodEvents();
  const look = (second: number): void => record([gated(0), gated(4)], { recordEvent }, { now: at(second) });
  look(4);
  expect(recorded).toEqual([]);
  look(6);
  look(7);
  expect(recorded).toEqual(["p0 WaitingForIndex"]);
  look(9);
  expect(recorded).toEqual(["p0 WaitingForIndex", "p4 WaitingForIndex"]);
});
