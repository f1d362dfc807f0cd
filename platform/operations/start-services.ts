// What this process answers with: the CF API, the webhook, and the logs of pods.
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import type { Member } from "../../kube/lease/member.ts";
import { createApi, type Api } from "../../api/server.ts";
import { startReplicaLogs, listTelemetryAddresses } from "../telemetry/replica-logs.ts";
import type { PlatformContext, PeerServers } from "../platform-context.ts";
import { createPeerDirectory } from "../peers/peer-server.ts";
import { findLiveMembers } from "../leases/replica-membership.ts";
import { createTelemetryClient } from "../telemetry/telemetry.ts";
import { formatWatchGaps } from "../readiness.ts";
import { startNameWebhook, DEFAULT_WEBHOOK_LISTEN } from "./name-webhook.ts";

/** Answers at once with 503 until all it reads is listed and the other replicas are met. */
export function startApiOperation(
  { client, informers, blobs, log, options, membership, readiness, disposables }: PlatformContext,
  peerServers: PeerServers,
): Api {
  const members = (): Member[] => findLiveMembers(membership) ?? [];
  const telemetry = createTelemetryClient({
    informers,
    log,
    addresses: (source) => listTelemetryAddresses(members(), source),
    members,
  });
  const peers = peerServers.peers && {
    directory: createPeerDirectory(membership, peerServers.peers),
    tokenFor: peerServers.peers.tokenFor,
  };
  const api = createApi({
    client,
    informers,
    blobs,
    log,
    telemetry,
    ...omitUndefined({
      url: options.publicURL,
      authorization: options.authorization,
      tokenIssuer: options.tokenIssuer,
      peers,
    }),
  });
  const abort = new AbortController();
  disposables.defer(() => {
    abort.abort();
    return api.peers.close();
  });
  peerServers.peers?.setHandler(api.peers.handler);
  void connectPeersWhenSynced(api, abort.signal);
  readiness.addCheck(
    "api",
    () =>
      api.isReady() ||
      formatWatchGaps(informers.status().filter(({ synced }) => !synced)) ||
      "the other replicas have not been met yet",
  );
  return api;
}

const SYNC_POLL_MS = 1_000;

/** What the others have written counts from what is held here, so that is listed first. */
async function connectPeersWhenSynced(api: Api, signal: AbortSignal): Promise<void> {
  let synced = false;
  while (!synced && !signal.aborted) synced = await api.waitUntilReady(SYNC_POLL_MS);
  if (!signal.aborted) await api.peers.syncWithPeers();
}

/** @throws Error when its address is taken */
export async function startWebhookOperation({
  client,
  informers,
  readiness,
  options,
  log,
  disposables,
}: PlatformContext): Promise<void> {
  const webhook = await startNameWebhook({ client, informers, log, listen: options.webhook ?? DEFAULT_WEBHOOK_LISTEN });
  disposables.defer(() => webhook.stop());
  readiness.addCheck("webhook", () => webhook.checkReadiness());
}

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
