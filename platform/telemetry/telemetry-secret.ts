// The secret from which processes of the platform derive the tokens that they authenticate with, as it is in the cluster now.
import { randomBytes } from "node:crypto";
import type { Logger } from "pino";
import { Secret } from "../../kube/api/builtin.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isAlreadyExists } from "../../kube/client/errors.ts";
import type { Readiness } from "../../kube/server/readiness.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { retryUntilSuccess } from "../startup.ts";

/** The Secret with the key `token`, from which platform/peers/address-token.ts derives the token of each address. It is never sent itself. */
export const TELEMETRY_SECRET = "cupola-telemetry";
const NO_TOKEN = `the Secret ${TELEMETRY_SECRET} has no key token: delete it, and it is made again`;
const KEY = { namespace: SYSTEM_NAMESPACE, name: TELEMETRY_SECRET };

interface SecretContext {
  client: KubeClient;
  informers: Informers;
  readiness: Readiness;
  signal: AbortSignal;
  log: Logger;
}

/**
 * Returns a function that tells the secret of now. The first process creates the Secret, and any process creates it again after it was
 * deleted; all follow a change by their watch, without a restart.
 */
export async function startTelemetrySecret(context: SecretContext): Promise<() => string> {
  const { client, informers, readiness, signal, log } = context;
  const ensure = (): Promise<string> => ensureSecret(client, signal);
  let secret = await retryUntilSuccess("token", ensure, { readiness, signal, log });
  const { store } = informers.ensure(Secret, {
    namespace: SYSTEM_NAMESPACE,
    fieldSelector: `metadata.name=${TELEMETRY_SECRET}`,
  });
  let hasToken = true;
  readiness.addCheck("tokens", () => hasToken || { degraded: `${NO_TOKEN}; until then a process cannot start` });
  store.onChange((change) => {
    if (change.type !== "deleted") {
      const token = tokenOf(change.object);
      hasToken = token !== undefined;
      secret = token ?? secret;
      return;
    }
    hasToken = true;
    log.warn({ secret: TELEMETRY_SECRET }, "the Secret of the platform's tokens was deleted; creating it again");
    // The cause is on the check: the watch tells of the Secret that another process creates meanwhile.
    void retryUntilSuccess("token", ensure, { readiness, signal, log }).then(
      (made) => (secret = made),
      () => undefined,
    );
  });
  return () => secret;
}

async function ensureSecret(client: KubeClient, signal: AbortSignal): Promise<string> {
  const found = await client.find(Secret, KEY, { signal });
  if (!found) await createSecret(client, signal);
  const token = tokenOf(found ?? (await client.get(Secret, KEY, { signal })));
  if (token === undefined) throw new Error(NO_TOKEN);
  return token;
}

async function createSecret(client: KubeClient, signal: AbortSignal): Promise<void> {
  const token = Buffer.from(randomBytes(24).toString("base64url")).toString("base64");
  await client
    .create(Secret, { metadata: KEY, type: "Opaque", data: { token } }, { signal })
    .catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
}

/** Undefined without the key `token`: an empty secret would make tokens that anybody can derive. */
export function tokenOf({ data }: { data?: Readonly<Record<string, string>> }): string | undefined {
  return Buffer.from(data?.["token"] ?? "", "base64").toString("utf8") || undefined;
}
