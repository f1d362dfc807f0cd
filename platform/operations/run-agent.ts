// The agent of a cluster of mode pull: its login on the hub, and its work there.
import type { Logger } from "pino";
import type { KubeClient } from "../../kube/client/client.ts";
import { createClient, type ClusterAccess } from "../../kube/client/create-client.ts";
import { createHubLogin, type TokenStore } from "./hub-login.ts";
import { runPullAgent } from "./pull-agent.ts";

/** As user agent and field manager. */
export const AGENT_NAME = "cupola-agent";

export interface AgentOptions {
  /** Name of its cluster on the hub. */
  cluster: string;
  /** Where it calls. */
  hub: Pick<ClusterAccess, "server" | "ca">;
  tokens: TokenStore;
  /** A client of its own cluster. */
  connectHere: () => KubeClient;
  log: Logger;
}

/** Runs until the signal. Never rejects. */
export async function runAgent(
  { cluster, hub: access, tokens, connectHere, log }: AgentOptions,
  signal: AbortSignal,
): Promise<void> {
  const login = createHubLogin(cluster, tokens, log);
  const hub = createClient({ ...access, auth: login.credentials, userAgent: AGENT_NAME, fieldManager: AGENT_NAME });
  try {
    await Promise.all([login.renew(hub, signal), runPullAgent({ cluster, hub, connectHere, log }, signal)]);
  } finally {
    await hub.close();
  }
}
