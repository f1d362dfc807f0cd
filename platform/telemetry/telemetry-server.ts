// Serves the logs and stats of this process to the API replicas.
import type { Logger } from "pino";
import { createTelemetry, telemetryHandler, type Telemetry } from "../../telemetry/telemetry.ts";
import { REPLICA_ANNOTATIONS } from "../leases/replica-membership.ts";
import { deriveAddressToken } from "../peers/address-token.ts";
import { startPeerListener, type PeerServer } from "../peers/peer-server.ts";

/** The telemetry of this process, if any, and the secret of now, from which tokens are derived. */
export interface LocalTelemetry {
  secret: () => string;
  secretRef: { name: string };
  telemetry?: Telemetry;
  server?: PeerServer;
}

/** Serves the logs and stats of this process at an address; with TLS off loopback. */
export async function startTelemetry({
  secret,
  secretRef,
  address,
  log,
}: {
  secret: () => string;
  secretRef: { name: string };
  address: string;
  log: Logger;
}): Promise<LocalTelemetry> {
  const telemetry = createTelemetry({ onError: (err) => log.error({ err }, "instance stats") });
  const tokenFor = (url: string): string => deriveAddressToken(secret(), "telemetry", url);
  const server = await startPeerListener(address, tokenFor, (err) =>
    log.warn({ err }, "could not accept a connection of another replica"),
  );
  server.setHandler(telemetryHandler(telemetry, () => tokenFor(server.url)));
  return { secret, secretRef, telemetry, server };
}

/** The server's address as annotations of this replica's Lease. */
export function toTelemetryAnnotations({ url, authority }: PeerServer): Record<string, string> {
  return { [REPLICA_ANNOTATIONS.telemetry]: url, ...(authority && { [REPLICA_ANNOTATIONS.authority]: authority }) };
}
