// The lines that the status of a pod adds to an app's log: the end of a run in the words of Cloud Foundry, and the start of its health.
import { describe, expect, test } from "vitest";
import type { ContainerState, ContainerStatus } from "kubernetes-types/core/v1.js";
import { LABELS } from "../../crds/labels.ts";
import { toExit, toHealthySince, type PodObject } from "./container-events.ts";

const END = "2026-11-21T04:00:07Z";
const ns = (time: string): bigint => BigInt(Date.parse(time)) * 1_000_000n;

function pod(
  labels: Record<string, string> = {},
  more: { status?: object; deletionTimestamp?: string } = {},
): PodObject {
  const { status, ...metadata } = more;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "a",
      labels: { [LABELS.sourceType]: "APP", [LABELS.processType]: "worker", ...labels },
      ...metadata,
    },
    status: { conditions: [{ type: "Ready", status: "True", lastTransitionTime: END }], ...status },
  } as PodObject;
}

function container(
  state: ContainerState,
  lastState: ContainerState = {},
  more: Partial<ContainerStatus> = {},
): ContainerStatus {
  return { name: "application", image: "i", imageID: "i", restartCount: 1, ready: true, state, lastState, ...more };
}

const ended = (exitCode: number, reason = "Error"): ContainerState => ({
  terminated: { exitCode, reason, finishedAt: END, containerID: "containerd://1" },
});
const crashed = { message: 'Process has crashed with type: "worker"', sourceType: "API" };
const evicted = { status: { reason: "Evicted", message: "Pod ephemeral local storage usage exceeds the total limit" } };

describe("the end of a run", () => {
  test.each<[string, PodObject, ContainerStatus, object[]]>([
    ["a crash", pod(), container(ended(3)), [{ message: "Exit status 3" }, crashed]],
    ["an exit with 0", pod(), container(ended(0, "Completed")), [{ message: "Exit status 0" }, crashed]],
    [
      "too much memory, while it waits for its next start",
      pod(),
      container({ waiting: { reason: "CrashLoopBackOff" } }, ended(137, "OOMKilled")),
      [{ message: "Exit status 137 (out of memory)" }, crashed],
    ],
    [
      "too much disk",
      pod({}, evicted),
      container(ended(137)),
      [{ message: "Exit status 137 (disk quota exceeded)" }, crashed],
    ],
    ["a stop", pod({}, { deletionTimestamp: END }), container(ended(143)), [{ message: "Exit status 143" }]],
    ["a sidecar", pod(), container(ended(1), {}, { name: "config" }), [{ message: "Exit status 1" }]],
    ["a task", pod({ [LABELS.sourceType]: "TASK" }), container(ended(1)), [{ message: "Exit status 1" }]],
    ["a phase of a build", pod({ [LABELS.sourceType]: "STG" }), container(ended(1)), []],
  ])("%s", (_what, of, status, lines) =>
    expect(toExit(of, status)).toEqual({ run: "containerd://1", time: ns(END), lines }),
  );

  test.each<[string, ContainerStatus]>([
    ["a first run", container({ running: { startedAt: END } })],
    ["an end whose time nobody knows", container({ terminated: { exitCode: 137, reason: "ContainerStatusUnknown" } })],
  ])("%s has none", (_what, status) => expect(toExit(pod(), status)).toBeUndefined());
});

describe("health", () => {
  const running = { running: { startedAt: "2026-11-21T04:00:01Z" } };
  test("begins when the pod became Ready", () => expect(toHealthySince(pod(), container(running))).toBe(ns(END)));
  test.each<[string, PodObject, ContainerStatus]>([
    ["a container that is not ready", pod(), container(running, {}, { ready: false })],
    ["one that does not run", pod(), container(ended(1))],
    ["a sidecar", pod(), container(running, {}, { name: "config" })],
    ["a phase of a build", pod({ [LABELS.sourceType]: "STG" }), container(running)],
  ])("%s has none", (_what, of, status) => expect(toHealthySince(of, status)).toBeUndefined());
});
