// A build's progress by its Pod's status, as a table, and whose turn it is.
import { describe, expect, test } from "vitest";
import { isOver } from "./build-pods.ts";
import { digest, guid, staging } from "./testing/fixtures.ts";
import { toDroplet } from "../exported-image.ts";
import { toProgress, type PodObject } from "./pod-progress.ts";
import { findReasonToWait } from "./turns.ts";

const NOW = new Date("2026-11-22T08:00:30Z");
const AT = "2026-11-22T08:00:20Z";

interface State {
  name: string;
  exit?: number;
  reason?: string;
  message?: string;
  waiting?: string;
  running?: true;
}

function pod(phase: string, states: State[], status: object = {}): PodObject {
  const toStatus = ({ name, exit, reason, message, waiting, running }: State): object => ({
    name,
    image: `image-of-${name}`,
    state: running
      ? { running: {} }
      : waiting
        ? { waiting: { reason: waiting, message } }
        : exit === undefined
          ? { waiting: { reason: "PodInitializing" } }
          : { terminated: { exitCode: exit, reason, message, finishedAt: AT } },
  });
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", creationTimestamp: "2026-11-22T08:00:00Z" },
    status: {
      phase,
      initContainerStatuses: states.filter(({ name }) => name !== "export").map(toStatus),
      containerStatuses: states.filter(({ name }) => name === "export").map(toStatus),
      ...status,
    },
  } as unknown as PodObject;
}

/** With a container that the cluster injected, before the build's own. */
function withInjected(given: PodObject, state: object): PodObject {
  const { containerStatuses = [] } = given.status ?? {};
  const injected = { name: "injected", image: "i", state };
  return { ...given, status: { ...given.status, containerStatuses: [injected, ...containerStatuses] } } as PodObject;
}

const done: State[] = ["fetch", "analyze"].map((name) => ({ name, exit: 0 }));
const REPORT = `[image]\ntags = ["a"]\ndigest = "${digest(3)}"\nmanifest-size = 7\n`;

describe("a build's Pod", () => {
  test.each<[string, PodObject, object]>([
    ["not seen by a node", pod("Pending", []), { kind: "waiting", reason: "Starting" }],
    [
      "without a node that takes it",
      pod("Pending", [], {
        conditions: [
          { type: "PodScheduled", status: "False", message: "0/1 nodes are available: 1 Insufficient memory." },
        ],
      }),
      { kind: "waiting", reason: "Unschedulable", message: expect.stringContaining("Insufficient memory") as string },
    ],
    [
      "that runs a phase",
      pod("Pending", [...done, { name: "detect", running: true }]),
      { kind: "running", phase: "detect" },
    ],
    ["between two phases", pod("Pending", [...done, { name: "detect" }]), { kind: "waiting", reason: "Starting" }],
    [
      "that exported",
      pod("Succeeded", [{ name: "export", exit: 0, message: REPORT }]),
      { kind: "exported", digest: digest(3), at: AT },
    ],
    [
      "whose last container has ended well, before the Pod is said to have",
      pod("Running", [...done, { name: "export", exit: 0, message: REPORT }]),
      { kind: "exported", digest: digest(3), at: AT },
    ],
    [
      "that runs, whose injected container has ended",
      withInjected(pod("Running", [...done, { name: "export", running: true }]), { terminated: { exitCode: 0 } }),
      { kind: "running", phase: "export" },
    ],
    [
      "that exported, whose injected container runs on",
      withInjected(pod("Running", [...done, { name: "export", exit: 0, message: REPORT }]), { running: {} }),
      { kind: "exported", digest: digest(3), at: AT },
    ],
    [
      "that ended without a report",
      pod("Succeeded", [{ name: "export", exit: 0, message: "hello" }]),
      { kind: "failed", code: "StagingError", message: expect.stringContaining("without a report") as string },
    ],
  ])("%s", (_what, given, expected) => expect(toProgress(given, NOW)).toMatchObject(expected));

  test.each<[string, State, string, string]>([
    ["no buildpack fits", { name: "detect", exit: 20 }, "NoAppDetectedError", "no buildpack fits the app"],
    ["detection fails", { name: "detect", exit: 21 }, "NoAppDetectedError", "at least one failed while it looked"],
    [
      "a buildpack fails",
      { name: "build", exit: 51 },
      "BuildpackCompileFailed",
      "a buildpack failed; the log says why",
    ],
    ["the lifecycle fails in build", { name: "build", exit: 52 }, "BuildpackCompileFailed", "exit code 52"],
    [
      "memory is short",
      { name: "build", exit: 137, reason: "OOMKilled" },
      "InsufficientResources",
      "Build.spec.memoryMB",
    ],
    [
      "the package is gone",
      { name: "fetch", exit: 1, message: "space x has no content y\n" },
      "StagingError",
      "the phase fetch ended with exit code 1: space x has no content y",
    ],
    [
      "the registry refuses",
      { name: "export", exit: 62, message: "UNAUTHORIZED" },
      "StagingError",
      "the phase export ended with exit code 62: UNAUTHORIZED",
    ],
    ["the lifecycle is too old", { name: "analyze", exit: 11 }, "StagingError", "Platform API"],
  ])("%s", (_what, state, code, message) => {
    const expected = { kind: "failed", code, message: expect.stringContaining(message) as string, at: AT };
    // The Pod's own phase may come later than its container's.
    for (const phase of ["Pending", "Failed"]) expect(toProgress(pod(phase, [...done, state]), NOW)).toEqual(expected);
  });

  test.each<[string, object, object]>([
    ["its time is up", { reason: "DeadlineExceeded" }, { kind: "failed", code: "StagingTimeExpired" }],
    [
      "it wrote too much",
      { reason: "Evicted", message: "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi." },
      { kind: "failed", code: "InsufficientResources" },
    ],
    [
      "its node ran full",
      { reason: "Evicted", message: "The node was low on resource: ephemeral-storage." },
      { kind: "interrupted" },
    ],
    [
      "its node shut down",
      { reason: "Terminated", message: "Pod was terminated in response to imminent node shutdown." },
      { kind: "interrupted" },
    ],
  ])("%s", (_what, status, expected) =>
    expect(toProgress(pod("Failed", [...done, { name: "build", exit: 137 }], status), NOW)).toMatchObject(expected),
  );

  test.each<[string, State[], boolean]>([
    ["an image that is not there", [{ name: "fetch", waiting: "ErrImagePull", message: "manifest unknown" }], true],
    ["a name that is none", [{ name: "analyze", waiting: "InvalidImageName" }], true],
    ["a registry that is away", [{ name: "fetch", waiting: "ErrImagePull", message: "connection refused" }], false],
    [
      "a Secret that the kubelet has not seen",
      [{ name: "analyze", waiting: "CreateContainerConfigError", message: 'secret "x" not found' }],
      false,
    ],
  ])("%s", (_what, states, isFinal) => {
    expect(toProgress(pod("Pending", states), NOW)).toMatchObject(
      isFinal
        ? { kind: "failed", code: "StagingError", message: expect.stringContaining("image-of-") as string }
        : { kind: "waiting" },
    );
    // A failure that a retry may mend gets a minute from the end of the phase before.
    expect(toProgress(pod("Pending", states), new Date("2026-11-22T08:01:01Z"))).toMatchObject({ kind: "failed" });
    const later = new Date("2026-11-22T08:01:01Z");
    if (!isFinal)
      expect(toProgress(pod("Pending", [{ name: "fetch", exit: 0 }, ...states]), later)).toMatchObject({
        kind: "waiting",
      });
  });
});

test.each<[string, PodObject, boolean]>([
  ["a phase runs", pod("Pending", [...done, { name: "detect", running: true }]), false],
  ["the last container waits", pod("Pending", [...done, { name: "export" }]), false],
  ["the last container runs", pod("Running", [...done, { name: "export", running: true }]), false],
  ["the last container has ended", pod("Running", [...done, { name: "export", exit: 0 }]), true],
  [
    "the last container has ended and an injected one runs on",
    withInjected(pod("Running", [...done, { name: "export", exit: 0 }]), { running: {} }),
    true,
  ],
  [
    "an injected container has ended, the last one runs",
    withInjected(pod("Running", [...done, { name: "export", running: true }]), { terminated: { exitCode: 0 } }),
    false,
  ],
  ["a phase failed", pod("Failed", [{ name: "fetch", exit: 1 }, { name: "export" }]), true],
])("when %s a Pod is over: %s", (_when, given, expected) => expect(isOver(given)).toBe(expected));

test.each(["401 Unauthorized", "unexpected status code 401"])(
  "a pull refused with %s fails the build at the kubelet's second attempt: at its first it may not have read the pull Secret",
  (message) => {
    const refused = pod("Pending", [{ name: "fetch", waiting: "ErrImagePull", message }]);
    expect(toProgress(refused, new Date("2026-11-22T08:00:19Z"))).toMatchObject({ kind: "waiting" });
    expect(toProgress(refused, new Date("2026-11-22T08:00:20Z"))).toMatchObject({
      kind: "failed",
      code: "StagingError",
    });
  },
);

describe("turns", () => {
  const second = { name: "b", created: "2026-11-22T08:00:01Z" };
  const other = (digit: number, more: object = {}) =>
    staging({ app: { guid: guid(digit), name: "x" } }, { name: `other-${digit}`, ...more });

  test("an app's builds run one after the other, the oldest first", () => {
    const [first, next] = [staging(), staging({}, second)];
    expect(findReasonToWait(first, [next, first], 5)).toBeUndefined();
    expect(findReasonToWait(next, [next, first], 5)).toMatchObject({ reason: "WaitingForApp" });
  });

  test("a build that runs keeps its turn from an older one", () => {
    const running = staging({}, { ...second, status: { state: "Running" } });
    expect(findReasonToWait(staging(), [staging(), running], 5)).toMatchObject({ reason: "WaitingForApp" });
  });

  test("only so many run at a time; those that wait for their own app take no place", () => {
    const late = staging({}, { name: "z", created: "2026-11-22T09:00:00Z" });
    expect(findReasonToWait(late, [late, other(6), other(7)], 2)).toMatchObject({
      reason: "WaitingForOthers",
      message: "waits for other builds: 2 run at the same time (parameter concurrency of the class)",
    });
    const sameApp = other(6, second);
    expect(findReasonToWait(late, [late, other(6), sameApp], 2)).toBeUndefined();
  });
});

describe("the exported image", () => {
  const labels = {
    "io.buildpacks.build.metadata": JSON.stringify({
      processes: [
        { type: "web", command: ["node", "server.js"], args: ["--port", "8 0"], direct: true, buildpackID: "x" },
        { type: "worker", command: "rake work", args: null, direct: false },
      ],
      buildpacks: [{ id: "cupola/nodejs", version: "0.1.0", api: "0.10" }],
    }),
    "io.buildpacks.stack.id": "cupola",
  };

  test("is a droplet with the processes and buildpacks of its labels", () =>
    expect(toDroplet("r/app@sha256:1", { labels }, "cupola-registry")).toEqual({
      kind: "cnb",
      image: "r/app@sha256:1",
      imagePullSecretRef: { name: "cupola-registry" },
      processTypes: { web: "node server.js --port '8 0'", worker: "rake work" },
      stack: "cupola",
      buildpacks: [{ name: "cupola/nodejs", version: "0.1.0", detectOutput: "nodejs" }],
    }));

  test("without the lifecycle's label is an error", () =>
    expect(() => toDroplet("r/app", { labels: {} }, undefined)).toThrow("no readable label"));
});
