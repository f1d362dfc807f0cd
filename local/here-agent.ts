// The agent of a cluster of this machine in mode pull: it calls the platform's API server with a token of its own account, as one on another machine.
import type { Logger } from "pino";
import type { KubeClient } from "../kube/client/client.ts";
import { createClient, type ClusterAccess } from "../kube/client/create-client.ts";
import { createHubLogin, requestToken } from "../platform/operations/hub-login.ts";
import { runPullAgent } from "../platform/operations/pull-agent.ts";

export interface HereAgentOptions {
  cluster: string;
  hub: Pick<ClusterAccess, "server" | "ca">;
  /** The platform's own cluster, as its administrator. */
  admin: KubeClient;
  /** A client of the agent's own cluster. */
  connectHere: () => KubeClient;
  log: Logger;
}

export function startHereAgent(
  { cluster, hub: { server, ca = "" }, admin, connectHere, log: parent }: HereAgentOptions,
  disposables: AsyncDisposableStack,
): void {
  const log = parent.child({ cluster });
  // No token outlives this process.
  const tokens = {
    load: async () => [(await requestToken(admin, cluster)).token],
    save: () => Promise.resolve(),
  };
  const login = createHubLogin(cluster, tokens, log);
  const hub = createClient({
    server,
    ca,
    auth: login.credentials,
    userAgent: "cupola-agent",
    fieldManager: "cupola-agent",
  });
  const abort = new AbortController();
  const running = Promise.all([
    login.renew(hub, abort.signal),
    runPullAgent({ cluster, hub, connectHere, log }, abort.signal),
  ]);
  disposables.defer(async () => {
    abort.abort();
    await running;
    await hub.close();
  });
}
