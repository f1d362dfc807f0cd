// Clusters whose instances may be started elsewhere.
import { expect, test } from "vitest";
import { Cluster } from "../../crds/cluster/cluster.ts";
import { PlacementDecision } from "../../crds/placement-decision/placement-decision.ts";
import { Task } from "../../crds/task/task.ts";
import { makeObject } from "../../crds/testing/objects.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { silentProgress } from "../output.ts";
import { drain, judgeFailover, remove } from "./drain.ts";

const clusterWith = (reason: string, status = "False"): Cluster =>
  makeObject(Cluster, "west", {
    spec: {},
    status: { lrps: 0, conditions: [{ type: "Reachable", status, reason, message: `why: ${reason}` }] },
  });

test("a silent one", () => expect(judgeFailover(clusterWith("Silent"))).toBeUndefined());

test.each(["Engaging", "Reading", "CredentialRefused", "RightMissing", "NotEngaged"])(
  "%s says nothing of its instances, unless a person does",
  (reason) => {
    const refusal = judgeFailover(clusterWith(reason));
    expect(refusal?.message).toContain(`${reason}: why`);
    expect(refusal?.next).toContain("cup clusters failover west -f");
    expect(judgeFailover(clusterWith(reason), true)).toBeUndefined();
  },
);

test("one that was never asked", () =>
  expect(judgeFailover(makeObject(Cluster, "west", { spec: {} }))?.message).toContain("has not been asked yet"));

test("one that answers is drained, by force too", () =>
  expect(judgeFailover(clusterWith("Answers", "True"), true)?.next).toContain("cup clusters drain west"));

test("a removal places nothing new there, looks twice before it deletes, and begins with the rights of an agent", async () => {
  const calls: string[] = [];
  let isThere = true;
  const kube = {
    find: ({ kind }: { kind: string }) => {
      calls.push(`find ${kind}`);
      return Promise.resolve(isThere ? clusterWith("Answers", "True") : undefined);
    },
    list: ({ kind }: { kind: string }) => {
      calls.push(`list ${kind}`);
      return Promise.resolve({ items: [] });
    },
    patch: (_ref: unknown, _key: unknown, { body }: { body: unknown }) => {
      calls.push(JSON.stringify(body));
      return Promise.resolve();
    },
    delete: ({ kind }: { kind: string }) => {
      calls.push(`delete ${kind}`);
      isThere = false;
      return Promise.resolve();
    },
  } as unknown as KubeClient;
  await remove(kube, "west", silentProgress);
  const look = ["find Cluster", "list PlacementDecision", "list Task"];
  expect(calls.slice(0, 11)).toEqual([
    "find Cluster",
    '{"spec":{"cordoned":true}}',
    ...look,
    ...look,
    "find Namespace",
    "delete ServiceAccount",
    "delete Cluster",
  ]);
});

/** An app with an instance on west, whose Process is as said, and which has ended at the second look. */
const withApp = (process: object | undefined, calls: string[]): KubeClient => {
  const decision = makeObject(PlacementDecision, "shop.web", {
    spec: {
      segment: "shared",
      app: "shop",
      processType: "web",
      assignments: [{ cluster: "west", indexes: [{ start: 0, end: 0 }], state: "Active", reason: "Chosen" }],
    },
  });
  const isThere = (): boolean => !calls.includes("delete Cluster");
  return {
    find: ({ kind }: { kind: string }) => {
      if (kind === "Process") return Promise.resolve(process);
      return Promise.resolve(kind === "Cluster" && isThere() ? clusterWith("Answers", "True") : undefined);
    },
    list: ({ kind }: { kind: string }) => {
      calls.push(`list ${kind}`);
      const isFirst = calls.filter((one) => one === "list PlacementDecision").length === 1;
      return Promise.resolve({ items: kind === "PlacementDecision" && isFirst ? [decision] : [] });
    },
    patch: () => Promise.resolve(),
    delete: ({ kind }: { kind: string }) => Promise.resolve(void calls.push(`delete ${kind}`)),
  } as unknown as KubeClient;
};

test.each([
  ["is being deleted", { metadata: { name: "shop.web", deletionTimestamp: "2026-11-28T00:00:00Z" } }],
  ["is gone", undefined],
])("a cluster whose last process %s is removed when it has ended there", async (_, process) => {
  const calls: string[] = [];
  await remove(withApp(process, calls), "west", silentProgress);
  expect(calls).toContain("delete Cluster");
});

test("a cluster that still has a process is not removed", () =>
  expect(remove(withApp({ metadata: { name: "shop.web" } }, []), "west", silentProgress)).rejects.toMatchObject({
    message: "cluster west still runs apps of this platform",
    next: "cup clusters drain west",
  }));

const taskOn = (cluster: string, state: string): Task =>
  makeObject(Task, "t", { spec: { appRef: { name: "shop" }, command: "true" }, status: { cluster, state } });

/** West answers and has these tasks, and no process. */
const withTasks = (tasks: readonly Task[]): KubeClient =>
  ({
    find: () => Promise.resolve(clusterWith("Answers", "True")),
    list: ({ kind }: { kind: string }) => Promise.resolve({ items: kind === "Task" ? tasks : [] }),
    patch: () => Promise.resolve(),
  }) as unknown as KubeClient;

test("a cluster on which a task has not ended is not removed, and a drain says so", async () => {
  const tasks = [taskOn("west", "Running"), taskOn("west", "Succeeded"), taskOn("east", "Running")];
  await expect(remove(withTasks(tasks), "west", silentProgress)).rejects.toMatchObject({
    message: "1 task has not ended on cluster west",
    next: expect.stringContaining("cup clusters forget west"),
  });
  const { text } = await drain(withTasks(tasks), "west", { wait: true, progress: silentProgress });
  expect(text.join()).toContain("1 task has not ended there");
  const drained = await drain(withTasks([]), "west", { wait: true, progress: silentProgress });
  expect(drained.text.join()).toContain("Nothing is placed on cluster west any more");
});
