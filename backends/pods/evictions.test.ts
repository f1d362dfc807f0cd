// Which evicted pods are kept, and how long the next pod of one that filled its disk waits.
import { describe, expect, test } from "vitest";
import { LABELS } from "../../crds/labels.ts";
import { keptEvictions, longestWait, timeLeft, waitAfter } from "./evictions.ts";
import { listObsoletePods } from "./pod-removal.ts";
import type { PodObject } from "./slim-pod.ts";

const at = (second: number): string => new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString();
const FULL = "Pod ephemeral local storage usage exceeds the total limit of containers 128Mi. ";
const LOW = "The node was low on resource: memory. ";

const indexOf = ({ metadata }: PodObject): number | undefined => {
  const label = metadata.labels?.[LABELS.instanceIndex];
  return label === undefined ? undefined : Number(label);
};

function pod(second: number, index: number | undefined, status: object = { phase: "Pending" }): PodObject {
  const labels = index === undefined ? {} : { [LABELS.instanceIndex]: String(index) };
  const metadata = { name: `p${second}`, creationTimestamp: at(second), labels };
  return { kind: "Pod", metadata, spec: { containers: [] }, status } as unknown as PodObject;
}

/** Made at this second, and evicted 20 seconds later. */
const evicted = (second: number, message = FULL, index = 0): PodObject =>
  pod(second, index, {
    phase: "Failed",
    reason: "Evicted",
    message,
    conditions: [{ type: "DisruptionTarget", status: "True", lastTransitionTime: at(second + 20) }],
  });

/** As `evicted`, but its app ended with status 0 on SIGTERM: kubelet then says neither why nor that it failed. */
const evictedCleanly = (second: number, conditions: object[] = []): PodObject =>
  pod(second, 0, {
    phase: "Succeeded",
    conditions: [
      { type: "Ready", status: "False", reason: "PodCompleted", lastTransitionTime: at(second + 20) },
      ...conditions,
    ],
  });
const DISRUPTED = { type: "DisruptionTarget", status: "True", reason: "TerminationByKubelet", message: LOW };

const names = (pods: readonly PodObject[]): string[] => pods.map(({ metadata }) => metadata.name);
const kept = (pods: readonly PodObject[]): PodObject[] => keptEvictions(pods, indexOf).get(0) ?? [];

describe("of the evicted pods of an index are kept", () => {
  test.each<[string, PodObject[], string[]]>([
    ["the last one", [evicted(0, LOW), evicted(100, LOW)], ["p100"]],
    [
      "those that filled their disk soon one after the other",
      [evicted(0), evicted(100), evicted(200)],
      ["p200", "p100", "p0"],
    ],
    ["at most five", [0, 1, 2, 3, 4, 5].map((at) => evicted(at * 100)), ["p500", "p400", "p300", "p200", "p100"]],
    ["those whose app ended in good order, too", [evictedCleanly(0), evicted(100)], ["p100", "p0"]],
    ["none of long ago", [evicted(0), evicted(900)], ["p900"]],
    ["none before a shortage of the node", [evicted(0), evicted(100, LOW)], ["p100"]],
    ["none without an index", [pod(0, undefined, { phase: "Failed", reason: "Evicted", message: FULL })], []],
  ])("%s", (_what, pods, expected) => expect(names(kept(pods))).toEqual(expected));

  test("and the others are deleted", () => {
    const pods = [evicted(0), evicted(900), evicted(0, LOW, 1), pod(1000, 0)];
    expect(names(listObsoletePods(pods, indexOf))).toEqual(["p0"]);
  });
});

describe("the next pod waits", () => {
  test.each<[string, PodObject[], number, number]>([
    ["after a full disk", [evicted(0)], 21, 10_000],
    ["after a full disk of an app that ended in good order", [evictedCleanly(0)], 21, 10_000],
    ["not after a shortage of the node, in good order", [evictedCleanly(0, [DISRUPTED])], 21, 0],
    ["twice as long after two", [evicted(0), evicted(50)], 71, 20_000],
    ["at most 160 s", [0, 1, 2, 3, 4, 5].map((at) => evicted(at * 100)), 521, 160_000],
    ["not after a shortage of the node", [evicted(0, LOW)], 21, 0],
    ["not when it was made for another reason, later", [evicted(0)], 200, 0],
    ["not without an eviction", [], 21, 0],
  ])("%s", (_what, pods, second, expected) => expect(waitAfter(kept(pods), pod(second, undefined))).toBe(expected));

  test("from its creation, and not at all when clocks differ by more", () => {
    const next = pod(21, undefined);
    const left = (second: number): number => timeLeft(next, 10_000, new Date(at(second)));
    expect([21, 25, 31, 40, 20].map(left)).toEqual([10_000, 6_000, 0, 0, 0]);
  });

  test.each<[string, PodObject[], number]>([
    ["an index that runs again waits no more", [evicted(0), pod(21, 0)], 0],
    ["an index that is not wanted any more counts not", [evicted(0, FULL, 2)], 0],
    ["an index without a pod", [evicted(0)], 10_000],
  ])("%s", (_what, pods, expected) => {
    const waiting = [pod(21, undefined)];
    expect(longestWait([...pods, ...waiting], waiting, { pool: { instances: 2 }, indexOf })).toBe(expected);
  });
});
