// Where a task runs, and what its deletion waits for.
import { expect, test } from "vitest";
import { Cluster } from "../../crds/cluster/cluster.ts";
import type { Task } from "../../crds/task/task.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import type { RemoteCluster, RemoteClusters } from "../../kube/controller/controller.ts";
import { endTask, findTaskPlace } from "./place.ts";
import { toRemoteRun } from "./plan.ts";

const aTask = (status: Partial<NonNullable<Task["status"]>> = {}): Task =>
  ({ metadata: { name: "t", namespace: "dev", uid: "u" }, spec: {}, status }) as unknown as Task;

const read = (clusters: readonly string[]): Reader =>
  ({
    find: (ref: unknown, { name }: { name: string }) =>
      ref === Cluster && clusters.includes(name) ? { metadata: { name } } : undefined,
    list: () => [],
    byIndex: () => [],
  }) as unknown as Reader;

/** Numbers of runs by cluster: in the cache, and at the server. */
function clusters(counts: Record<string, number>, live = counts): RemoteClusters {
  const remote = (name: string): RemoteCluster =>
    ({
      listOwned: () => Array(counts[name] ?? 0),
      client: {
        list(_ref: unknown, options: object) {
          expect(options).toMatchObject({ namespace: "dev", labelSelector: "hub=h,owner=u" });
          return Promise.resolve({ items: Array(live[name] ?? 0) });
        },
      },
    }) as never as RemoteCluster;
  return {
    markers: { hub: "h", hubLabel: "hub", ownerLabel: "owner" } as RemoteClusters["markers"],
    names: () => Object.keys(counts),
    find: (name) => (counts[name] === undefined ? undefined : remote(name)),
  };
}

test("a task stays on the cluster that was chosen, and runs here without a placement or when it has begun", () => {
  expect(findTaskPlace(aTask({ cluster: "east" }), read([]))).toEqual({ cluster: "east" });
  expect(findTaskPlace(aTask(), read([]))).toEqual({ cluster: "local" });
  expect(findTaskPlace(aTask({ state: "Running" }), read([]))).toEqual({ cluster: "local" });
});

test("its end waits for a run elsewhere, and for a cluster that cannot be read, unless that was given up", async () => {
  const task = aTask({ cluster: "east" });
  const end = (known: string[], counts: Record<string, number>, live?: Record<string, number>) =>
    endTask(task, { read: read(known), clusters: clusters(counts, live) });
  expect(await end(["east"], { east: 1 })).toMatchObject({ remote: { children: { east: [] } } });
  expect(await end(["east"], { east: 0 })).toBeUndefined();
  expect(await end(["east"], { east: 0 }, { east: 1 })).toMatchObject({ ready: { reason: "Stopping" } });
  expect(await end(["east"], {})).toMatchObject({ ready: { reason: "ClusterUnreachable" } });
  expect(await end([], {})).toBeUndefined();
  expect(await endTask(aTask(), { read: read([]), clusters: clusters({}) })).toBeUndefined();
});

test("its run elsewhere has a name that a restored platform finds, and mounts no volumes", () => {
  const run = { metadata: { name: "here", namespace: "dev" }, spec: { droplet: {} } };
  const names = [1, 2].map(() => toRemoteRun(run, { name: "t", guid: "g", hub: "h" }).metadata.name);
  expect(new Set([...names, "here"]).size).toBe(2);
  const volumes = { ...run, spec: { droplet: {}, volumes: [{ claimName: "c", mountPath: "/c" }] } };
  expect(() => toRemoteRun(volumes, { name: "t", guid: "g", hub: "h" })).toThrow("cluster local");
});
