// Reads the logs and stats of apps on other clusters for the API's replicas, which hold no credential of a cluster.
import { telemetryClient, type TelemetryClient } from "../../telemetry/telemetry-client.ts";
import { telemetryReadHandler } from "../../telemetry/read-handler.ts";
import type { TelemetryEndpoint } from "../../telemetry/endpoint-agent.ts";
import { REPLICA_ANNOTATIONS } from "../leases/replica-membership.ts";
import type { Clusters } from "../operations/clusters.ts";
import { deriveAddressToken } from "../peers/address-token.ts";
import { startPeerListener } from "../peers/peer-server.ts";
import type { PlatformContext } from "../platform-context.ts";
import { clusterTransport } from "./cluster-transport.ts";
import { followPlacedApps, type PlacedApps } from "./placed-apps.ts";

/** A cluster that answers later is left out, so that it does not hold up the others. Shorter than the deadline of the API's own reads. */
const READ_MS = 2_000;
const RETRY_MS = 5_000;
/** Within this time a follower reads a cluster, too, to which its app has come. */
const LOOK_MS = 2_000;

type RelayContext = Pick<PlatformContext, "informers" | "membership" | "options" | "log" | "disposables">;

/** Serves from the moment when a cluster is known whose logs can be read. Without one it costs nothing. */
export function startClusterRelay(context: RelayContext, clusters: Clusters, secret: () => string): void {
  const { log, disposables } = context;
  const abort = new AbortController();
  let started: Promise<void> | undefined;
  const begin = (): void => {
    if (abort.signal.aborted || clusters.listTelemetry().length === 0) return;
    started ??= serve(context, clusters, secret).catch((err: unknown) => {
      log.warn({ err }, "the logs of other clusters cannot be served; retrying");
      setTimeout(() => {
        started = undefined;
        begin();
      }, RETRY_MS).unref();
    });
  };
  const unsubscribe = clusters.onTelemetryChange(begin);
  disposables.defer(async () => {
    abort.abort();
    unsubscribe();
    await started;
  });
  begin();
}

async function serve(
  { informers, membership, options, log, disposables }: RelayContext,
  clusters: Clusters,
  secret: () => string,
): Promise<void> {
  const tokenFor = (url: string): string => deriveAddressToken(secret(), "telemetry", url);
  const server = await startPeerListener(options.peerAddress ?? "127.0.0.1", tokenFor, (err) =>
    log.warn({ err }, "could not accept a connection of another replica"),
  );
  disposables.defer(() => server.close());
  const apps = followPlacedApps(informers);
  disposables.defer(() => apps.release());
  const client = clusterTelemetry(clusters, apps, {
    onError: (err) => log.warn({ err }, "a cluster's logs cannot be read"),
  });
  server.setHandler(telemetryReadHandler(client));
  await membership.annotate({
    [REPLICA_ANNOTATIONS.relay]: server.url,
    ...(server.authority !== undefined && { [REPLICA_ANNOTATIONS.relayAuthority]: server.authority }),
  });
}

/** Reads from the clusters that have, or had, instances of an app. */
export function clusterTelemetry(
  { provider, listTelemetry }: Pick<Clusters, "provider" | "listTelemetry">,
  apps: PlacedApps,
  {
    onError,
    timeoutMs = READ_MS,
    lookMs = LOOK_MS,
  }: { onError: (error: Error) => void; timeoutMs?: number; lookMs?: number },
): TelemetryClient {
  const endpoints = (app: string | undefined): TelemetryEndpoint[] =>
    listTelemetry().filter(({ url }) => app === undefined || apps.isOn(url, app));
  return telemetryClient({
    endpoints: ({ source, app }) => endpoints(source ?? app),
    transport: clusterTransport({
      findClient: (name) => provider.find(name)?.client,
      apps,
      now: () => performance.now(),
    }),
    timeoutMs,
    lookMs,
    onError,
  });
}
