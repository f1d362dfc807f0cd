// The credential of a pull cluster's agent on the hub: a token that it renews by itself. Deleting its account on the hub takes all of them back.
import type { Logger } from "pino";
import { AGENT_ACCOUNT, clusterNamespace } from "../../crds/work/names.ts";
import { AGENT_TOKEN_SECONDS } from "../../crds/work/policies.ts";
import { ServiceAccount } from "../../kube/api/builtin.ts";
import { resourcePath } from "../../kube/api/resource-ref.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isUnauthorized } from "../../kube/client/errors.ts";
import { toCredentials, type CredentialSource } from "../../kube/client/credentials.ts";
import { createSleeper } from "../../kube/client/sleeper.ts";

const DAY_MS = 24 * 3600_000;
const RETRY_MS = 60_000;
const CALL_MS = 10_000;

/** Where tokens are kept while the agent does not run. */
export interface TokenStore {
  /** The newest first. Each is tried until one is taken. */
  load(): Promise<readonly string[]>;
  save(token: string): Promise<void>;
}

export interface HubLogin {
  credentials: CredentialSource;
  /** Renews the token daily until the signal. */
  renew(hub: KubeClient, signal: AbortSignal): Promise<void>;
}

/** Tokens are loaded with the first request. */
export function createHubLogin(cluster: string, store: TokenStore, log: Logger): HubLogin {
  let tokens: string[] = [];
  const credentials: CredentialSource = async ({ renew } = {}) => {
    // The hub refused the first one.
    if (renew) tokens = tokens.slice(1);
    if (tokens.length === 0) tokens = [...(await store.load())];
    const [token] = tokens;
    if (token === undefined) throw new Error("there is no token for the hub; on the hub: cup clusters add NAME --pull");
    return toCredentials({ kind: "token", token });
  };
  const renewOnce = async (hub: KubeClient, signal: AbortSignal): Promise<number> => {
    const { token, expiresAt } = await requestToken(hub, cluster, signal);
    tokens = [token];
    await store.save(token);
    return Math.min(DAY_MS, (expiresAt - Date.now()) / 2);
  };
  return {
    credentials,
    async renew(hub, signal) {
      const sleeper = createSleeper();
      while (!signal.aborted) {
        const nextMs = await renewOnce(hub, signal).catch((error: unknown) => {
          if (isUnauthorized(error)) void hub.renew().catch(() => undefined);
          const reason = error instanceof Error ? error.message : String(error);
          if (!signal.aborted)
            log.warn({ cluster, reason }, "the agent's token for the hub was not renewed; it tries again");
          return RETRY_MS;
        });
        await sleeper.sleep(Math.max(nextMs, RETRY_MS), signal);
      }
    },
  };
}

/** A token of the account of a cluster's agent. */
export async function requestToken(
  hub: KubeClient,
  cluster: string,
  signal?: AbortSignal,
  expirationSeconds = AGENT_TOKEN_SECONDS,
): Promise<{ token: string; expiresAt: number }> {
  const path = resourcePath(ServiceAccount, {
    namespace: clusterNamespace(cluster),
    name: AGENT_ACCOUNT,
    subresource: "token",
  });
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds } };
  const { status } = (await hub.raw("POST", path, body, { deadlineMs: CALL_MS, ...(signal && { signal }) })) as {
    status?: { token?: string; expirationTimestamp?: string };
  };
  if (!status?.token) throw new Error("the hub's API server issued no token");
  return { token: status.token, expiresAt: Date.parse(status.expirationTimestamp ?? "") || Date.now() + DAY_MS };
}
