// Starts the operation `logs`.
import type { PlatformContext, PeerServers } from "../platform-context.ts";
import { startReplicaLogs } from "./replica-logs.ts";

/** Follows the containers of the apps that fall to this replica. */
export function startLogsOperation(
  { client, informers, membership, readiness, log, disposables }: PlatformContext,
  peerServers: PeerServers | undefined,
): void {
  if (!peerServers?.telemetry) throw new Error("logs need the telemetry side of their process");
  const logs = startReplicaLogs({ client, informers, membership, ring: peerServers.telemetry.ring, log });
  disposables.defer(() => logs.stop());
  readiness.addCheck("logs", () => logs.checkReadiness());
}
