// The operation `agent` as the chart starts it on a cluster that its hub cannot call: it logs in with a first token, renews it, keeps it, and the hub reaches the cluster.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addPullCluster } from "../../../cli/cluster/add-pull.ts";
import { silentProgress } from "../../../cli/output.ts";
import { AGENT_TOKEN_SECRET } from "../../../crds/hub-account.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { LABELS } from "../../../crds/labels.ts";
import { PLATFORM_GROUP } from "../../../crds/platform-role.ts";
import { Namespace, NetworkPolicy, Secret } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { installManifests } from "../../../platform/install.ts";
import { startPlatform, type RunningPlatform } from "../../../platform/platform.ts";
import { startReplica } from "../../clusters/replica.ts";
import { conditionOf } from "../../clusters/world.ts";
import { eventually } from "../../eventually.ts";
import { startEmbedded } from "../embedded-server.ts";
import type { Server } from "../kubernetes/suite.ts";

const log = pino({ level: process.env["TEST_LOG"] ?? "silent" });

describe("the operation agent of a cluster that its hub cannot call", () => {
  const home = mkdtempSync(join(tmpdir(), "cupola-agent-"));
  const ends: (() => Promise<unknown>)[] = [];
  let servers: { hub: Server; spoke: Server };
  let hub: KubeClient;
  let spoke: KubeClient;

  beforeAll(async () => {
    servers = {
      hub: await startEmbedded(),
      spoke: await startEmbedded({
        users: [
          { token: "platform", user: "cupola", groups: [PLATFORM_GROUP] },
          { token: "account", user: "hub", groups: ["system:masters"] },
        ],
      }),
    };
    for (const server of Object.values(servers)) ends.push(() => server.stop());
    [hub, spoke] = [connect(servers.hub), connect(servers.spoke)];
    await Promise.all([installManifests(hub), installManifests(spoke)]);
    const replica = await startReplica(() => connect(servers.hub), { leads: true });
    ends.push(() => replica.stop());
  }, 60_000);
  afterAll(async () => {
    for (const end of ends.splice(0).reverse()) await end();
    rmSync(home, { recursive: true, force: true });
  }, 60_000);

  function connect({ url: server, ca, adminToken: token }: Server): KubeClient {
    const client = createClient({ server, ca, auth: { kind: "token", token } });
    ends.push(() => client.close());
    return client;
  }

  async function startAgent(token: string): Promise<RunningPlatform> {
    const { hub: onHub, spoke: onSpoke } = servers;
    const platform = await startPlatform({
      access: { server: onSpoke.url, ca: onSpoke.ca, auth: { kind: "token", token: "platform" } },
      operations: ["agent"],
      data: home,
      listen: { host: "127.0.0.1", port: 0 },
      hub: {
        server: onHub.url,
        ca: onHub.ca,
        cluster: "west",
        readToken: () => token,
        readAccountToken: () => "account",
      },
      log,
      shutdown: { drainMs: 0 },
    });
    ends.push(() => platform.stop({ instances: "end" }));
    return platform;
  }

  const savedToken = async (): Promise<string> => {
    const found = await spoke.find(Secret, { namespace: SYSTEM_NAMESPACE, name: AGENT_TOKEN_SECRET });
    return Buffer.from(found?.data?.["token"] ?? "", "base64").toString();
  };
  const untilReachable = (): Promise<void> =>
    eventually(async () => expect(await conditionOf(hub, "west", "Reachable")).toMatchObject({ status: "True" }));

  test("the hub reaches the cluster by it, and it works on with its own token", async () => {
    const { json } = await addPullCluster(hub, "west", { progress: silentProgress });
    const token = (json as { values: Record<string, string> }).values["agent.hub.token"] ?? "";
    const agent = await startAgent(token);
    await untilReachable();
    // As the hub makes it there.
    await spoke.create(Namespace, {
      metadata: { name: "acme-dev", labels: { [LABELS.hub]: "h1", [LABELS.namespaceKind]: "space" } },
    });
    await eventually(async () => {
      const { items } = await spoke.list(NetworkPolicy);
      expect(items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).toSorted()).toEqual([
        "acme-dev/cupola-apps",
        "acme-dev/cupola-tasks",
      ]);
    });
    await eventually(async () => expect(await savedToken()).not.toBe(""));
    expect(await savedToken()).not.toBe(token);
    await agent.stop({ instances: "end" });
    await eventually(async () =>
      expect(await conditionOf(hub, "west", "Reachable")).toMatchObject({ status: "False", reason: "Silent" }),
    );
    // The first token may have ended by now.
    await startAgent("ended");
    await eventually(async () =>
      expect(await conditionOf(hub, "west", "Reachable")).not.toMatchObject({ reason: "Silent" }),
    );
  }, 90_000);
});
