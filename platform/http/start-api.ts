// Starts the CF API of this process and introduces it to the other replicas.
import { createSSHCodes } from "../../api/identity/ssh-codes.ts";
import type { SSHService } from "../../api/routing/ssh-service.ts";
import { createImageStore } from "../../blobs/registry/images/image-store.ts";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Member } from "../../kube/lease/member.ts";
import { createAuditWriter } from "../../telemetry/audit/audit-writer.ts";
import { createApi, type Api } from "../../api/server.ts";
import { readHostKey } from "../ssh/host-key.ts";
import { findLiveMembers } from "../leases/replica-membership.ts";
import { createPeerDirectory } from "../peers/peer-directory.ts";
import type { PlatformContext, PeerServers } from "../platform-context.ts";
import { formatWatchGaps } from "../readiness.ts";
import { startAppLog } from "../telemetry/app-log.ts";
import { listTelemetryAddresses } from "../telemetry/replica-logs.ts";
import { createTelemetryClient } from "../telemetry/telemetry-client.ts";

/** Starts the API, which answers 503 until its caches are filled and the other replicas are connected. */
export function startApiOperation(
  context: PlatformContext,
  { peerServers, sshAddress }: { peerServers: PeerServers; sshAddress: string | undefined },
): Api {
  const { informers, readiness, disposables } = context;
  const api = createApiOf(context, peerServers, sshAddress);
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

function createApiOf(context: PlatformContext, peerServers: PeerServers, sshAddress: string | undefined): Api {
  const { client, informers, blobs, registry, log, options, membership, policies } = context;
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
  const audit = createAuditWriter({ client, writer: membership.identity, log });
  context.disposables.defer(() => audit.close());
  return createApi({
    client,
    informers,
    blobs,
    ...(registry && { images: createImageStore(registry.client, registry.prefix) }),
    log,
    telemetry,
    appLog: startAppLog(context, peerServers),
    audit,
    ...omitUndefined({
      policies: policies && (() => policies.live.policies()),
      url: options.publicURL,
      authorization: options.authorization,
      login: options.login,
      tokenIssuer: options.tokenIssuer,
      ssh: sshAddress === undefined ? undefined : toSSHService(client, sshAddress),
      peers,
      metrics: context.metrics?.requests,
      tracing: context.tracing,
    }),
  });
}

function toSSHService(client: KubeClient, address: string): SSHService {
  return {
    codes: createSSHCodes({ client, now: () => new Date() }),
    address,
    fingerprint: async () => (await readHostKey(client)).fingerprint,
  };
}

const SYNC_POLL_MS = 1_000;

/** Connects after the caches are filled, because writes of other replicas are compared with them. */
async function connectPeersWhenSynced(api: Api, signal: AbortSignal): Promise<void> {
  let synced = false;
  while (!synced && !signal.aborted) synced = await api.waitUntilReady(SYNC_POLL_MS);
  if (!signal.aborted) await api.peers.syncWithPeers();
}
