// Objects that a TaskRun becomes in a cluster, and its state by its Job and pod.
import { expect, test } from "vitest";
import { stringify } from "yaml";
import { TaskRun } from "../../../crds/task-run/task-run.ts";
import type { Job } from "../../../kube/api/builtin.ts";
import type { PodObject } from "../../pods/slim-pod.ts";
import { toReady } from "../../task-status.ts";
import { planJob } from "./plan.ts";
import { observeTask } from "./task-status.ts";

const guid = (digit: number): string => `0000000${digit}-0000-4000-8000-000000000000`;
const NOON = "2026-11-22T12:00:00Z";
const LATER = "2026-11-22T12:00:09Z";

function task(change: object = {}): TaskRun {
  const spec: unknown = TaskRun.spec.parse({
    class: "job",
    app: { guid: guid(1), name: "My Shop" },
    space: { guid: guid(2), name: "dev" },
    org: { guid: guid(3), name: "Acme Inc." },
    taskGUID: guid(4),
    taskName: "migrate",
    droplet: { guid: guid(5), kind: "cnb", image: "example.com/shop@sha256:0", imagePullSecretRef: { name: "pull" } },
    command: "rake db:migrate --at $(hostname)",
    env: [{ name: "PASSWORD", valueFrom: { secretKeyRef: { name: "shop-env", key: "PASSWORD" } } }],
    memoryMB: 256,
    diskMB: 512,
    timeoutSeconds: 60,
    ...change,
  });
  return {
    apiVersion: "workloads.cupola.dev/v1alpha1",
    kind: "TaskRun",
    metadata: {
      name: "migrate-0123456789",
      namespace: "acme-dev",
      uid: "u",
      labels: { "cupola.dev/guid": guid(4), "cupola.dev/app-guid": guid(1), "cupola.dev/owner-uid": "p" },
      annotations: { "cupola.dev/app-name": "My Shop" },
    },
    spec: spec as TaskRun["spec"],
  };
}

test("a TaskRun is a Job that runs once", async () => {
  await expect(stringify(planJob(task()), { lineWidth: 0, aliasDuplicateObjects: false })).toMatchFileSnapshot(
    "job.golden.yaml",
  );
});

test("a task finds the files of bound services, too", () => {
  const serviceFiles = { mountPath: "/etc/f", secretRef: { name: "s" }, items: [{ key: "f0", path: "db/uri" }] };
  expect(planJob(task({ serviceFiles }))).toMatchObject({
    spec: {
      template: {
        spec: {
          volumes: [{ name: "service-files", secret: { secretName: "s" } }],
          containers: [{ volumeMounts: [{ name: "service-files", mountPath: "/etc/f", readOnly: true }] }],
        },
      },
    },
  });
});

const job = (type?: string, reason?: string): Job =>
  ({
    metadata: { name: "migrate" },
    status: { ...(type && { conditions: [{ type, status: "True", reason, lastTransitionTime: LATER }] }) },
  }) as unknown as Job;
const pod = (state: object, status: object = {}): PodObject =>
  ({
    metadata: { name: "migrate-x" },
    status: { containerStatuses: [{ name: "application", state }], ...status },
  }) as unknown as PodObject;
const ended = (exitCode: number, reason = "Error"): PodObject =>
  pod({ terminated: { exitCode, reason, startedAt: NOON, finishedAt: LATER } });

test.each<[string, Job, PodObject | undefined, object]>([
  ["no pod yet", job(), undefined, { state: "Pending" }],
  ["its pod is being created", job(), pod({ waiting: { reason: "ContainerCreating" } }), { state: "Pending" }],
  [
    "its image cannot be pulled",
    job(),
    pod({ waiting: { reason: "ImagePullBackOff", message: "not found" } }),
    {
      state: "Pending",
      details: expect.stringMatching(/^Image example.com\/shop@sha256:0 cannot be pulled: not found;/),
    },
  ],
  [
    "its Secret is missing",
    job(),
    pod({ waiting: { reason: "CreateContainerConfigError", message: 'secret "shop-env" not found' } }),
    {
      state: "Pending",
      details: expect.stringMatching(/^Variable PASSWORD needs Secret shop-env, which does not exist;/),
    },
  ],
  ["it runs", job(), pod({ running: { startedAt: NOON } }), { state: "Running", startedAt: NOON }],
  ["its container has ended, the Job not yet", job(), ended(0), { state: "Running", startedAt: NOON }],
  [
    "it succeeded",
    job("Complete"),
    ended(0, "Completed"),
    { state: "Succeeded", exitCode: 0, startedAt: NOON, finishedAt: LATER },
  ],
  [
    "it failed",
    job("Failed", "BackoffLimitExceeded"),
    ended(3),
    { state: "Failed", details: "Exited with status 3", exitCode: 3, startedAt: NOON, finishedAt: LATER },
  ],
  [
    "it took too much memory",
    job("Failed", "BackoffLimitExceeded"),
    ended(137, "OOMKilled"),
    {
      state: "Failed",
      details: "Exited with status 137 (out of memory: it may use 256 MB)",
      exitCode: 137,
      startedAt: NOON,
      finishedAt: LATER,
    },
  ],
  [
    "it took too long, and its pod is gone",
    job("Failed", "DeadlineExceeded"),
    undefined,
    { state: "Failed", details: "the task did not end within its 60 s", finishedAt: LATER },
  ],
  [
    "its pod went before the command ran",
    job("Failed", "BackoffLimitExceeded"),
    undefined,
    { state: "Failed", details: "its pod has gone; whether the command ran is not known", finishedAt: LATER },
  ],
])("%s", (_what, given, its, expected) => expect(observeTask(task(), given, its)).toEqual(expected));

test("a run that has started does not go back to Pending when its pod is not seen", () => {
  const started = { ...task(), status: { state: "Running" as const, startedAt: NOON } };
  expect(observeTask(started, job(), undefined)).toEqual({ state: "Running", startedAt: NOON });
});

test.each([
  [{ state: "Pending" as const }, { status: "False", reason: "Pending", message: "" }],
  [{ state: "Running" as const }, { status: "False", reason: "Running", message: "" }],
  [{ state: "Succeeded" as const }, { status: "True", reason: "Succeeded", message: "" }],
  [
    { state: "Failed" as const, details: "why" },
    { status: "False", reason: "Failed", message: "why", isFailure: true },
  ],
])("Ready of %o", (status, ready) => expect(toReady(status)).toEqual(ready));
