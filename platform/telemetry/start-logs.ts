// Starts the operation `logs`.
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { detectLogStreams } from "../../telemetry/pods/log-streams.ts";
import type { PlatformContext, PeerServers } from "../platform-context.ts";
import { retryUntilSuccess } from "../startup.ts";
import { startReplicaLogs } from "./replica-logs.ts";

/** Follows the containers of the apps that fall to this replica. @throws the abort reason of `signal` */
export async function startLogsOperation(
  { client, informers, membership, readiness, log, signal, disposables }: PlatformContext,
  peerServers: PeerServers | undefined,
): Promise<void> {
  if (!peerServers?.telemetry) throw new Error("logs need the telemetry side of their process");
  const streams = await retryUntilSuccess("log streams", () => detectLogStreams(client, SYSTEM_NAMESPACE), {
    readiness,
    signal,
    log,
  });
  const { ring } = peerServers.telemetry;
  const logs = startReplicaLogs({ client, informers, membership, ring, log, streams });
  disposables.defer(() => logs.stop());
  readiness.addCheck("logs", () => logs.checkReadiness());
}
