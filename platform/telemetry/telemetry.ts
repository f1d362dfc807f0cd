// Connects the processes that run builders, runners and routers with the API replicas that read their logs and stats.
import { randomBytes } from "node:crypto";
import type { Logger } from "pino";
import { Secret } from "../../kube/api/builtin.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import type { Member } from "../../kube/lease/member.ts";
import { isAlreadyExists } from "../../kube/client/errors.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { telemetryClient, type TelemetryClient, type TelemetryEndpoint } from "../../telemetry/telemetry-client.ts";
import { createTelemetry, telemetryHandler, type Telemetry } from "../../telemetry/telemetry.ts";
import { deriveAddressToken, isHttpAddress } from "../peers/address-token.ts";
import type { TelemetryAddress } from "./replica-logs.ts";
import { startPeerListener, type PeerServer } from "../peers/peer-server.ts";
import { REPLICA_ANNOTATIONS } from "../leases/replica-membership.ts";

/** The Secret from whose key `token` the token of every address is derived: platform/peers/address-token.ts. It is never sent itself. */
export const TELEMETRY_SECRET = "cupola-telemetry";

/** The telemetry of this process, where it has any, and the secret behind what opens that of the others. */
export interface LocalTelemetry {
  secret: string;
  secretRef: { name: string };
  telemetry?: Telemetry;
  server?: PeerServer;
}

/** Serves the logs and stats of this process at an address; off loopback by TLS. */
export async function startTelemetry({
  secret,
  secretRef,
  address,
  log,
}: {
  secret: string;
  secretRef: { name: string };
  address: string;
  log: Logger;
}): Promise<LocalTelemetry> {
  const telemetry = createTelemetry({ onError: (err) => log.error({ err }, "instance stats") });
  const tokenFor = (url: string): string => deriveAddressToken(secret, "telemetry", url);
  const server = await startPeerListener(address, tokenFor, (err) =>
    log.warn({ err }, "could not take a connection of another replica"),
  );
  server.setHandler(telemetryHandler(telemetry, tokenFor(server.url)));
  return { secret, secretRef, telemetry, server };
}

/** Says in the membership where that is. */
export function toTelemetryAnnotations({ url, authority }: PeerServer): Record<string, string> {
  return { [REPLICA_ANNOTATIONS.telemetry]: url, ...(authority && { [REPLICA_ANNOTATIONS.authority]: authority }) };
}

/** Makes the secret once, whoever comes first. */
export async function ensureTelemetrySecret(
  client: KubeClient,
): Promise<{ secret: string; secretRef: { name: string } }> {
  const key = { namespace: SYSTEM_NAMESPACE, name: TELEMETRY_SECRET };
  const found = await client.find(Secret, key);
  if (!found) {
    const draft = {
      metadata: key,
      type: "Opaque",
      data: { token: Buffer.from(randomBytes(24).toString("base64url")).toString("base64") },
    };
    await client.create(Secret, draft).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
  }
  const { data } = found ?? (await client.get(Secret, key));
  return { secret: decodeBase64(data?.["token"]), secretRef: { name: TELEMETRY_SECRET } };
}

function decodeBase64(value: string | undefined): string {
  return Buffer.from(value ?? "", "base64").toString("utf8");
}

export interface PlatformTelemetryOptions {
  informers: Informers;
  log: Logger;
  /** Replicas to be asked for the logs of a source; without one, for stats. */
  addresses: (source?: string) => TelemetryAddress[];
  members: () => readonly Member[];
}

/** Reads from every endpoint that a class publishes, and from the replicas that `addresses` names. */
export function createTelemetryClient({
  informers,
  log,
  addresses,
  members,
}: PlatformTelemetryOptions): TelemetryClient {
  const classes = informers.ensure(BackendClass).store;
  const secrets = informers.ensure(Secret, {
    namespace: SYSTEM_NAMESPACE,
    fieldSelector: `metadata.name=${TELEMETRY_SECRET}`,
  }).store;
  const findSecret = (name: string): string | undefined => {
    const secret = secrets.find({ namespace: SYSTEM_NAMESPACE, name });
    return secret && decodeBase64(secret.data?.["token"]);
  };
  /** A class says where it is; how to trust that, the process behind it says in its membership. */
  const findAuthority = (url: string): string | undefined =>
    members().find(({ annotations }) => annotations[REPLICA_ANNOTATIONS.telemetry] === url)?.annotations[
      REPLICA_ANNOTATIONS.authority
    ];
  return telemetryClient({
    endpoints: (source) => {
      if (!classes.synced || !secrets.synced) return [];
      const platformSecret = findSecret(TELEMETRY_SECRET);
      const replicas =
        platformSecret === undefined
          ? []
          : addresses(source).flatMap((address) => toEndpoints(address, platformSecret));
      const published = classes.list().flatMap((found): TelemetryEndpoint[] => {
        const endpoint = found.status?.endpoint;
        const secret = endpoint?.secretRef && findSecret(endpoint.secretRef.name);
        return endpoint && secret !== undefined
          ? toEndpoints({ url: endpoint.url, ...omitUndefined({ authority: findAuthority(endpoint.url) }) }, secret)
          : [];
      });
      return [...published, ...replicas];
    },
    onError: (error) => log.warn({ err: error }, "a telemetry endpoint does not answer"),
  });
}

/** An address comes from a status, so it may be anybody's: it gets the token of that address only, and none where it is no address. */
function toEndpoints(address: TelemetryAddress, secret: string): TelemetryEndpoint[] {
  return isHttpAddress(address.url)
    ? [{ ...address, token: deriveAddressToken(secret, "telemetry", address.url) }]
    : [];
}
