// A candidate does not give up for a fault of its own process. What an API server makes of Leases is tested in test/conformance/kube.
import pino from "pino";
import { expect, test } from "vitest";
import type { KubeClient } from "./client/client.ts";
import { runLeader } from "./leader.ts";

test("a credential that cannot be read once ends no candidacy", async () => {
  const stop = new AbortController();
  const terms: number[] = [];
  let asked = 0;
  const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "lead", namespace: "one", resourceVersion: "1" } };
  const client = {
    find: async () => {
      if (++asked === 1) throw new Error("ENOENT: no token file");
    },
    create: async () => lease,
    update: async () => lease,
  } as unknown as KubeClient;
  await runLeader({
    client, namespace: "one", name: "lead", identity: "a", signal: stop.signal, log: pino({ level: "silent" }),
    timing: { leaseMs: 100, renewMs: 50, retryMs: 1, everyMs: 10 },
    lead: async (_over, { transitions }) => {
      terms.push(transitions);
      stop.abort();
    },
  });
  expect(terms).toEqual([0]);
});
