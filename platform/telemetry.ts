// Connects the processes that run builders, runners and routers with the API replicas that read their logs and stats.
import { randomBytes } from "node:crypto";
import type { Logger } from "pino";
import { Secret } from "../kube/builtin.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { defined } from "../kube/defined.ts";
import type { Member } from "../kube/membership.ts";
import { isAlreadyExists } from "../kube/client/errors.ts";
import type { Watches } from "../kube/watches.ts";
import { BackendClass } from "../crds/backend-class/backend-class.ts";
import { SYSTEM_NAMESPACE } from "../crds/groups.ts";
import { telemetryClient, type TelemetryClient, type TelemetryEndpoint } from "../telemetry/client.ts";
import { createTelemetry, telemetryHandler, type Telemetry } from "../telemetry/telemetry.ts";
import type { TelemetryAddress } from "./logs.ts";
import { startPeerServer, type PeerServer } from "./peers.ts";
import { REPLICA_ANNOTATIONS } from "./replica.ts";

/** The Secret whose key `token` opens every telemetry endpoint. */
export const TELEMETRY_SECRET = "cupola-telemetry";

/** The telemetry of this process, where it has any, and what opens that of the others. */
export interface TelemetrySide {
  token: string;
  secretRef: { name: string };
  telemetry?: Telemetry;
  server?: PeerServer;
}

/** Serves the logs and stats of this process at an address; off loopback by TLS. */
export async function startTelemetry({ token, secretRef, address, log }: { token: string; secretRef: { name: string }; address: string; log: Logger }): Promise<TelemetrySide> {
  const telemetry = createTelemetry({ onError: (err) => log.error({ err }, "instance stats") });
  const server = await startPeerServer(address, token);
  server.serve(telemetryHandler(telemetry, token));
  return { token, secretRef, telemetry, server };
}

/** Says in the membership where that is. */
export function telemetryAnnotations({ url, authority }: PeerServer): Record<string, string> {
  return { [REPLICA_ANNOTATIONS.telemetry]: url, ...(authority && { [REPLICA_ANNOTATIONS.authority]: authority }) };
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

export interface TelemetryClientDeps {
  watches: Watches;
  log: Logger;
  /** Replicas to be asked for the logs of a source; without one, for stats. */
  addresses: (source?: string) => TelemetryAddress[];
  members: () => readonly Member[];
}

/** Reads from every endpoint that a class publishes, and from the replicas that `addresses` names. */
export function createTelemetryClient({ watches, log, addresses, members }: TelemetryClientDeps): TelemetryClient {
  const classes = watches.ensure(BackendClass).store;
  const secrets = watches.ensure(Secret, { namespace: SYSTEM_NAMESPACE, fieldSelector: `metadata.name=${TELEMETRY_SECRET}` }).store;
  const tokenIn = (name: string): string | undefined => {
    const secret = secrets.find({ namespace: SYSTEM_NAMESPACE, name });
    return secret && decode(secret.data?.["token"]);
  };
  /** A class says where it is; how to trust that, the process behind it says in its membership. */
  const authorityOf = (url: string): string | undefined =>
    members().find(({ annotations }) => annotations[REPLICA_ANNOTATIONS.telemetry] === url)?.annotations[REPLICA_ANNOTATIONS.authority];
  return telemetryClient({
    endpoints: (source) => {
      if (!classes.synced || !secrets.synced) return [];
      const own = tokenIn(TELEMETRY_SECRET);
      const replicas = own === undefined ? [] : addresses(source).map((address): TelemetryEndpoint => ({ ...address, token: own }));
      const published = classes.list().flatMap((found): TelemetryEndpoint[] => {
        const endpoint = found.status?.endpoint;
        const token = endpoint?.secretRef && tokenIn(endpoint.secretRef.name);
        return endpoint && token !== undefined ? [{ url: endpoint.url, token, ...defined({ authority: authorityOf(endpoint.url) }) }] : [];
      });
      return [...published, ...replicas];
    },
    onError: (error) => log.warn({ err: error }, "a telemetry endpoint does not answer"),
  });
}
