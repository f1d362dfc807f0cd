// Clusters whose instances may be started elsewhere.
import { expect, test } from "vitest";
import { Cluster } from "../../crds/cluster/cluster.ts";
import { makeObject } from "../../crds/testing/objects.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { silentProgress } from "../output.ts";
import { judgeFailover, remove } from "./drain.ts";

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

test("a removal places nothing new there, and looks twice before it deletes", async () => {
  const calls: string[] = [];
  let isThere = true;
  const kube = {
    find: ({ kind }: { kind: string }) => {
      calls.push(`find ${kind}`);
      return Promise.resolve(isThere ? clusterWith("Answers", "True") : undefined);
    },
    list: () => {
      calls.push("list");
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
  expect(calls.slice(0, 7)).toEqual([
    "find Cluster",
    '{"spec":{"cordoned":true}}',
    "find Cluster",
    "list",
    "find Cluster",
    "list",
    "delete Cluster",
  ]);
});
