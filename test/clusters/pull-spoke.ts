// The agent of a spoke in mode pull, as its chart runs it: on the hub with a token of its account, through a link that can fail; on the spoke as the hub's account.
import { pino } from "pino";
import { addPullCluster } from "../../cli/cluster/add-pull.ts";
import { silentProgress } from "../../cli/output.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { createClient } from "../../kube/client/create-client.ts";
import { createHubLogin } from "../../platform/operations/hub-login.ts";
import { runPullAgent } from "../../platform/operations/pull-agent.ts";

const log = pino({ level: process.env["TEST_LOG"] ?? "silent" });

export const AGENT_SILENT_MS = 3_000;

const WATCH_TIMING = {
  backoff: { minMs: 50, maxMs: 500, jitter: 1 },
  parked: { minMs: 100, maxMs: 500, jitter: 1 },
};

const TIMING = {
  aliveMs: 500,
  retryMs: 200,
  provider: { attemptMs: 2_000, retry: { minMs: 100, maxMs: 500, jitter: 0.5 }, probeMs: 300, probeDeadlineMs: 2_000 },
  watches: WATCH_TIMING,
};

export interface PlayedAgent {
  /** Joins again, as where the chart is installed with a new token. */
  rejoin(): Promise<void>;
  start(): Promise<void>;
  /** Its connections break first, so that nothing that it has begun goes on. */
  kill(): Promise<void>;
}

export interface PlayedAgentOptions {
  cluster: string;
  /** The administrator's. */
  hub: KubeClient;
  /** The hub's API server as the agent reaches it. */
  server: string;
  ca: string;
  connectHere: () => KubeClient;
}

export async function addPlayedAgent({
  cluster,
  hub: admin,
  server,
  ca,
  connectHere,
}: PlayedAgentOptions): Promise<PlayedAgent> {
  let tokens: string[] = [];
  const add = async (): Promise<void> => {
    const { json } = await addPullCluster(admin, cluster, { progress: silentProgress });
    tokens = [(json as { values: Record<string, string> }).values["agent.hub.token"] ?? ""];
  };
  await add();
  let end: (() => Promise<void>) | undefined;
  const agent: PlayedAgent = {
    async rejoin() {
      await agent.kill();
      await add();
      await agent.start();
    },
    async start() {
      const login = createHubLogin(
        cluster,
        { load: () => Promise.resolve(tokens), save: (one) => Promise.resolve(void (tokens = [one])) },
        log,
      );
      const hub = createClient({ server, ca, auth: login.credentials });
      const abort = new AbortController();
      const running = Promise.all([
        login.renew(hub, abort.signal),
        runPullAgent({ cluster, hub, connectHere: () => connectHere(), log, timing: TIMING }, abort.signal),
      ]);
      end = async () => {
        await hub.close();
        abort.abort();
        await running;
      };
    },
    async kill() {
      const ending = end;
      end = undefined;
      await ending?.();
    },
  };
  await agent.start();
  return agent;
}
