// The agent of a cluster of this machine in mode pull: it calls the platform's API server with a token of its own account, as one on another machine.
import type { KubeClient } from "../kube/client/client.ts";
import { requestToken } from "../platform/operations/hub-login.ts";
import { runAgent, type AgentOptions } from "../platform/operations/run-agent.ts";

export interface HereAgentOptions extends Omit<AgentOptions, "tokens"> {
  /** The platform's own cluster, as its administrator. */
  admin: KubeClient;
}

export function startHereAgent({ admin, ...options }: HereAgentOptions, disposables: AsyncDisposableStack): void {
  const { cluster } = options;
  // No token outlives this process.
  const tokens = {
    load: async () => [(await requestToken(admin, cluster)).token],
    save: () => Promise.resolve(),
  };
  const abort = new AbortController();
  const running = runAgent({ ...options, tokens, log: options.log.child({ cluster }) }, abort.signal);
  disposables.defer(async () => {
    abort.abort();
    await running;
  });
}
