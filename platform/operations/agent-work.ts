// The part of the operation `agent` that calls a hub which cannot call this cluster. One replica does.
import { AGENT_TOKEN_SECRET } from "../../crds/hub-account.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { Secret } from "../../kube/api/builtin.ts";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { createClient } from "../../kube/client/create-client.ts";
import { toCredentials, type CredentialSource } from "../../kube/client/credentials.ts";
import { isNotFound } from "../../kube/client/errors.ts";
import type { Singleton } from "../leases/singletons.ts";
import type { PlatformContext } from "../platform-context.ts";
import type { HubSettings } from "../platform-options.ts";
import type { TokenStore } from "./hub-login.ts";
import { AGENT_NAME, runAgent } from "./run-agent.ts";

/** Undefined where the hub calls this cluster. */
export function createAgentWork({ options, log }: Pick<PlatformContext, "options" | "log">): Singleton | undefined {
  const { hub, access } = options;
  if (!hub || !options.operations.includes("agent")) return undefined;
  return {
    operation: "agent",
    requiredKinds: [],
    startTerm: (_term, client) => {
      const abort = new AbortController();
      let ended: Promise<void> = Promise.resolve();
      return {
        controllers: [],
        start: () => void (ended = run({ hub, access, log, client }, abort.signal)),
        async stop() {
          abort.abort();
          await ended;
        },
      };
    },
  };
}

type AgentContext = Pick<PlatformContext, "log" | "client"> &
  Pick<PlatformContext["options"], "access"> & { hub: HubSettings };

/** Never rejects. */
async function run({ hub: settings, access, log, client }: AgentContext, signal: AbortSignal): Promise<void> {
  const { cluster, server, ca } = settings;
  const connectHere = (): KubeClient =>
    createClient({ ...access, auth: accountOf(settings), userAgent: AGENT_NAME, fieldManager: AGENT_NAME });
  await runAgent(
    { cluster, hub: { server, ...omitUndefined({ ca }) }, tokens: tokensIn(client, settings), connectHere, log },
    signal,
  );
}

/** Reads the file again when this cluster refuses the token. */
function accountOf({ readAccountToken }: HubSettings): CredentialSource {
  let token: string | undefined;
  return ({ renew } = {}) => {
    if (renew || token === undefined) token = readAccountToken();
    return toCredentials({ kind: "token", token });
  };
}

/** The agent's own Secret has what it renewed, the file what the chart was given. */
function tokensIn(client: KubeClient, { readToken }: HubSettings): TokenStore {
  const key = { namespace: SYSTEM_NAMESPACE, name: AGENT_TOKEN_SECRET };
  return {
    async load() {
      const found = await client.find(Secret, key);
      const saved = Buffer.from(found?.data?.["token"] ?? "", "base64").toString("utf8");
      return [saved, readToken()].filter((token) => token !== "");
    },
    async save(token) {
      const data = { token: Buffer.from(token).toString("base64") };
      await client.patch(Secret, key, { type: "merge", body: { data } }).catch(async (error: unknown) => {
        if (!isNotFound(error)) throw error;
        await client.create(Secret, { metadata: key, type: "Opaque", data });
      });
    },
  };
}
