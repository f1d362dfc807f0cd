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
import { createTelemetry, startTelemetryServer, type Telemetry, type TelemetryServer } from "../telemetry/telemetry.ts";

/** The Secret whose key `token` opens every telemetry endpoint. */
export const TELEMETRY_SECRET = "cupola-telemetry";

/** The telemetry of this process, where it has any, and what opens that of the others. */
export interface TelemetrySide {
  token: string;
  secretRef: { name: string };
  telemetry?: Telemetry;
  server?: TelemetryServer;
}

/** Serves the logs and stats of this process. */
export async function startTelemetry({ token, secretRef, log }: { token: string; secretRef: { name: string }; log: Logger }): Promise<TelemetrySide> {
  const telemetry = createTelemetry({ onError: (err) => log.error({ err }, "instance stats") });
  return { token, secretRef, telemetry, server: await startTelemetryServer({ telemetry, token }) };
}

/** Makes the token once, whoever comes first. */
export async function ensureTelemetryToken(client: KubeClient): Promise<{ token: string; secretRef: { name: string } }> {
  const key = { namespace: SYSTEM_NAMESPACE, name: TELEMETRY_SECRET };
  const found = await client.find(Secret, key);
  if (!found) {
    const made = { metadata: key, type: "Opaque", data: { token: Buffer.from(randomBytes(24).toString("base64url")).toString("base64") } };
    await client.create(Secret, made).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
  }
  const secret = found ?? (await client.get(Secret, key));
  return { token: decode(secret.data?.["token"]), secretRef: { name: TELEMETRY_SECRET } };
}

function decode(value: string | undefined): string {
  return Buffer.from(value ?? "", "base64").toString("utf8");
}

/** Reads from every endpoint that a class publishes, and from those of the other replicas (`addresses`): a router runs in each of them. */
export function createTelemetryClient({ watches, log, addresses }: { watches: Watches; log: Logger; addresses: () => string[] }): TelemetryClient {
  const classes = watches.ensure(BackendClass).store;
  const secrets = watches.ensure(Secret, { namespace: SYSTEM_NAMESPACE, fieldSelector: `metadata.name=${TELEMETRY_SECRET}` }).store;
  return telemetryClient({
    endpoints: () => {
      if (!classes.synced || !secrets.synced) return [];
      const own = secrets.find({ namespace: SYSTEM_NAMESPACE, name: TELEMETRY_SECRET });
      const replicas = own ? addresses().map((url): TelemetryEndpoint => ({ url, token: decode(own.data?.["token"]) })) : [];
      const published = classes.list().flatMap((found): TelemetryEndpoint[] => {
        const endpoint = found.status?.endpoint;
        const secret = endpoint?.secretRef && secrets.find({ namespace: SYSTEM_NAMESPACE, name: endpoint.secretRef.name });
        return endpoint && secret ? [{ url: endpoint.url, token: decode(secret.data?.["token"]) }] : [];
      });
      return [...published, ...replicas];
    },
    onError: (error) => log.warn({ err: error }, "a telemetry endpoint does not answer"),
  });
}
