// Connects the processes that run builders, runners and routers with the API replicas that read their logs and stats.
import { randomBytes } from "node:crypto";
import type { Logger } from "pino";
import { Secret } from "../kube/builtin.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { isAlreadyExists } from "../kube/client/errors.ts";
import type { Watches } from "../kube/watches.ts";
import { BackendClass } from "../crds/backend-class/backend-class.ts";
import { SYSTEM_NAMESPACE } from "../crds/groups.ts";
import { telemetryClient, type TelemetryClient, type TelemetryEndpoint } from "../telemetry/client.ts";

/** The Secret whose key `token` opens every telemetry endpoint. */
const SECRET = "cupola-telemetry";

/** Makes the token once, whoever comes first. */
export async function ensureTelemetryToken(client: KubeClient): Promise<{ token: string; secretRef: { name: string } }> {
  const key = { namespace: SYSTEM_NAMESPACE, name: SECRET };
  const found = await client.find(Secret, key);
  if (!found) {
    const made = { metadata: key, type: "Opaque", data: { token: Buffer.from(randomBytes(24).toString("base64url")).toString("base64") } };
    await client.create(Secret, made).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
  }
  const secret = found ?? (await client.get(Secret, key));
  return { token: decode(secret.data?.["token"]), secretRef: { name: SECRET } };
}

function decode(value: string | undefined): string {
  return Buffer.from(value ?? "", "base64").toString("utf8");
}

/** Reads from every endpoint that a class publishes. */
export function createTelemetryClient(watches: Watches, log: Logger): TelemetryClient {
  const classes = watches.ensure(BackendClass).store;
  const secrets = watches.ensure(Secret, { namespace: SYSTEM_NAMESPACE, fieldSelector: `metadata.name=${SECRET}` }).store;
  return telemetryClient({
    endpoints: () => {
      if (!classes.synced || !secrets.synced) return [];
      return classes.list().flatMap((found): TelemetryEndpoint[] => {
        const endpoint = found.status?.endpoint;
        const secret = endpoint?.secretRef && secrets.find({ namespace: SYSTEM_NAMESPACE, name: endpoint.secretRef.name });
        return endpoint && secret ? [{ url: endpoint.url, token: decode(secret.data?.["token"]) }] : [];
      });
    },
    onError: (error) => log.warn({ err: error }, "a telemetry endpoint does not answer"),
  });
}
