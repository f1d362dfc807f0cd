// The agent of a cluster of mode pull where something is refused to it: it says that it is alive, and never that it misses nothing.
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { writeAgentObjects } from "../../../cli/cluster/agent-objects.ts";
import { Cluster } from "../../../crds/cluster/cluster.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { systemObject } from "../../../crds/settings-object.ts";
import { AGENT_LEASE, clusterNamespace } from "../../../crds/work/names.ts";
import { Lease } from "../../../kube/api/builtin.ts";
import { resourceId, type ResourceRef } from "../../../kube/api/resource-ref.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { KubeError } from "../../../kube/client/errors.ts";
import { applyObjects, installManifests } from "../../../platform/install.ts";
import { runPullAgent } from "../../../platform/operations/pull-agent.ts";
import { eventually } from "../../eventually.ts";
import { startEmbedded } from "../embedded-server.ts";
import type { Server } from "../kubernetes/suite.ts";

const log = pino({ level: process.env["TEST_LOG"] ?? "silent" });
const KEY = { namespace: SYSTEM_NAMESPACE, name: "west" };
const ORPHANS = { count: 3, example: "LRP acme-dev/shop" };
const TIMING = {
  aliveMs: 100,
  retryMs: 100,
  provider: { attemptMs: 2_000, retry: { minMs: 50, maxMs: 200, jitter: 0.5 } },
  watches: { backoff: { minMs: 50, maxMs: 200, jitter: 1 }, parked: { minMs: 50, maxMs: 200, jitter: 1 } },
};

describe("the agent of a cluster, where something is refused to it", () => {
  const ends: (() => Promise<unknown>)[] = [];
  const refused = { report: false, lrps: true };
  let hub: KubeClient;

  const refuse = (what: string): KubeError => new KubeError({ code: 403, reason: "Forbidden", message: what });

  beforeAll(async () => {
    const servers = { hub: await startEmbedded(), spoke: await startEmbedded() };
    for (const server of Object.values(servers)) ends.push(() => server.stop());
    const connect = ({ url: server, ca, adminToken: token }: Server): KubeClient =>
      createClient({ server, ca, auth: { kind: "token", token } });
    hub = connect(servers.hub);
    const spoke = connect(servers.spoke);
    ends.push(
      () => hub.close(),
      () => spoke.close(),
    );
    await Promise.all([installManifests(hub), installManifests(spoke)]);
    await writeAgentObjects(hub, "west");
    await applyObjects(hub, [systemObject(Cluster, "west", { mode: "pull" })]);
    await report({ hub: "hub", agent: { clusterUID: "uid", classes: [], orphans: ORPHANS } });
    const onHub: KubeClient = {
      ...hub,
      patch: (ref, key, patch, options) =>
        refused.report && isOf(ref, Cluster)
          ? Promise.reject(refuse("no report"))
          : hub.patch(ref, key, patch, options),
    };
    const abort = new AbortController();
    const running = runPullAgent(
      {
        cluster: "west",
        hub: onHub,
        connectHere: () => withoutLRPs(connect(servers.spoke)),
        log,
        timing: TIMING,
      },
      abort.signal,
    );
    ends.push(() => {
      abort.abort();
      return running;
    });
  }, 60_000);
  afterAll(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  }, 60_000);

  const isOf = (one: ResourceRef, other: ResourceRef): boolean => resourceId(one) === resourceId(other);

  function withoutLRPs(client: KubeClient): KubeClient {
    return {
      ...client,
      async *pages(ref, options) {
        if (refused.lrps && isOf(ref, LRP)) throw refuse("no LRPs");
        yield* client.pages(ref, options);
      },
    };
  }

  async function report(status: object): Promise<void> {
    await hub.patch(Cluster, KEY, { type: "merge", body: { status } }, { subresource: "status" });
  }

  const agentReport = async () => (await hub.get(Cluster, KEY)).status?.agent;

  async function untilAlive(): Promise<void> {
    const key = { namespace: clusterNamespace("west"), name: AGENT_LEASE };
    const renewed = async (): Promise<unknown> => (await hub.get(Lease, key)).spec?.renewTime;
    const before = await renewed();
    await eventually(async () => expect(await renewed()).not.toEqual(before));
  }

  test("while it cannot count what nobody asks for, it says what it counted before, and that this may be old", async () => {
    for (let turns = 0; turns < 3; turns++) await untilAlive();
    expect(await agentReport()).toMatchObject({ orphans: ORPHANS, uncounted: true });
    refused.lrps = false;
    await eventually(async () => {
      const now = await agentReport();
      expect([now?.orphans, now?.uncounted]).toEqual([undefined, undefined]);
    });
  });

  test("it is alive while its report is refused: nothing there is lost", async () => {
    refused.report = true;
    for (let turns = 0; turns < 3; turns++) await untilAlive();
    await report({ agent: { clusterUID: "another" } });
    for (let turns = 0; turns < 3; turns++) await untilAlive();
    expect(await agentReport()).toMatchObject({ clusterUID: "another" });
    refused.report = false;
    await eventually(async () => expect(await agentReport()).not.toMatchObject({ clusterUID: "another" }));
  });
});
