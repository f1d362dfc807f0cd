// The CF API as one request handler. platform/ listens, and owns the client and the watches.
import type { Express } from "express";
import type { Logger } from "pino";
import type { BlobStore } from "../blobs/blob-store.ts";
import { NO_POLICIES, type Policies } from "../crds/policy-template/policies.ts";
import type { ImageStore } from "../blobs/image-store.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { Informers } from "../kube/cache/informers.ts";
import { createPodUsageReader } from "../telemetry/pods/pod-usage.ts";
import type { AuditWriter } from "../telemetry/audit/audit-writer.ts";
import type { TelemetryClient } from "../telemetry/telemetry-client.ts";
import { createCallerIdentity } from "./caller-identity.ts";
import type { TokenIssuerSettings } from "./identity/token-issuer.ts";
import { JOB_KEY } from "./jobs/job-key.ts";
import { createEndpoints } from "./endpoints.ts";
import type { Endpoint } from "./routing/endpoint.ts";
import type { LoginService, LoginSettings } from "./routing/login-service.ts";
import type { SSHService } from "./routing/ssh-service.ts";
import type { RequestMetrics } from "./routing/request-metrics.ts";
import type { Tracing } from "../kube/tracing/tracing.ts";
import { createRouting } from "./routing/routing.ts";
import { createPeerGroup, type PeerDirectory, type PeerGroup } from "./peers/peer-group.ts";
import { type AuthorizationMode, createAccessReviewer } from "./access/access-reviewer.ts";
import type { CallerPermissionsDeps } from "./access/create-caller-permissions.ts";
import { declaredPermissions } from "./access/declared-permissions.ts";
import { createSession } from "./access/create-session.ts";
import { createRecentEvents } from "./cf/audit/recent-events.ts";
import { type AppLog, createSessionRecorder } from "./cf/audit/record-writes.ts";
import { createClusterCache, type ClusterCache } from "./cache/cluster-cache.ts";
import { createHeldReads } from "./cache/held-reads.ts";

export interface ApiDeps {
  /** Has the platform's own identity. The API never writes tenants' resources with it, except for claims and Secrets. */
  client: KubeClient;
  /** Watches of the platform's identity, with `transform: recordLastWrite` (api/cache/object-times.ts). */
  informers: Informers;
  telemetry: TelemetryClient;
  blobs: BlobStore;
  /** Droplets that are images, where there is a registry. */
  images?: ImageStore;
  log: Logger;
  /** Base URL of links, e.g. `https://api.example.org`, without a trailing slash. Without it links use the request's Host. */
  url?: string;
  /** The directory of the other replicas, and the token for a peer's URL. Without it this is the only replica. */
  peers?: { directory: PeerDirectory; tokenFor: (url: string) => string };
  /** The operator's policies in force, by which writes are judged before they are sent. Without it the API server alone judges. */
  policies?: () => Policies;
  now?: () => Date;
  /** Records the API's lines in apps' logs. Without it there are none. */
  appLog?: AppLog;
  /** Records audit events. Without it there are none. */
  audit?: AuditWriter;
  /** Default: `rbac`. */
  authorization?: AuthorizationMode;
  /** How clients without a kubeconfig log in. Default: under no host name. */
  login?: LoginSettings;
  /** Codes for `cf ssh`, and where its proxy is. Default: there is none. */
  ssh?: SSHService;
  /** An issuer that kube-apiserver does not trust; the platform impersonates its users. Default: none. */
  tokenIssuer?: TokenIssuerSettings;
  metrics?: RequestMetrics | undefined;
  /** Present where this process makes traces. */
  tracing?: Tracing | undefined;
}

export interface Api {
  handler: Express;
  /** Whether all stores are synced and the other replicas' marks are known: serve only then. */
  isReady(): boolean;
  /** True once all stores are synced, false at the deadline (milliseconds). Does not wait for the other replicas. */
  waitUntilReady(deadlineMs: number): Promise<boolean>;
  readonly cache: ClusterCache;
  /** Releases all held requests and holds none from now on. Call it when shutdown begins. */
  releaseHeld(): void;
  /** The group of replicas. The owner of the API calls `syncWithPeers` after joining, and `close`. */
  readonly peers: PeerGroup;
}

/** Starts the watches. Requests get 503 until the cache is synced. @throws Error when the token issuer's settings are unsafe */
export function createApi(deps: ApiDeps): Api {
  const { client, informers, telemetry, blobs, images, log, peers, ssh, now = () => new Date() } = deps;
  const cache = createClusterCache(informers);
  // Prefetched, so that the first deletion does not wait for it; a failure surfaces in the request that needs it.
  JOB_KEY.get(client).catch(() => undefined);
  const { login, authenticate } = createCallerIdentity({ ...deps, now }, () => permissions);
  const readPodUsage = createPodUsageReader({ client, now });
  const services = { telemetry, readPodUsage, blobs, images, cache, login, ssh, platformClient: client, now };
  const endpoints = createEndpoints(services);
  const permissions = permissionsOf({ ...deps, now }, cache, endpoints);
  const peerGroup = createPeerGroup({ cache, log, ...peers });
  const heldReads = createHeldReads(cache);
  const sessionDeps = {
    ...sessionSettings({ ...deps, now }, login),
    cache,
    heldReads,
    peers: peerGroup,
    review: permissions.review,
    recorder: createSessionRecorder({ ...deps, cache, now, recentEvents: createRecentEvents(cache) }),
  };
  const handler = createRouting({
    endpoints,
    log,
    authenticate,
    ...(deps.url !== undefined && { url: deps.url }),
    otherHosts: login.settings.tokenLoginHosts,
    metrics: deps.metrics,
    tracing: deps.tracing,
    waitUntilCurrent: () => peerGroup.waitUntilCurrent(),
    createSession: (request) => createSession(sessionDeps, request),
  });
  return {
    handler,
    cache,
    peers: peerGroup,
    releaseHeld: () => heldReads.close(),
    isReady: () => cache.isSynced() && peerGroup.isReady(),
    waitUntilReady: (deadlineMs) => cache.waitUntilSynced(deadlineMs),
  };
}

type ClockedDeps = ApiDeps & Required<Pick<ApiDeps, "now">>;

/** The dependencies of sessions that come from the API's own settings. */
function sessionSettings(
  { client: platformClient, policies = () => NO_POLICIES, url = "", log, now }: ClockedDeps,
  { settings: { tokenLoginHosts, uaaURL } }: LoginService,
) {
  const apiHosts = [URL.parse(url)?.hostname ?? [], tokenLoginHosts].flat();
  return { platformClient, policies, log, now, apiHosts, usesUAA: uaaURL !== undefined };
}

function permissionsOf(
  { client, authorization = "rbac", now }: ClockedDeps,
  { authorizer }: ClusterCache,
  endpoints: readonly Endpoint[],
): CallerPermissionsDeps {
  if (authorization === "rbac") return { authorizer };
  return {
    authorizer,
    review: {
      reviewer: createAccessReviewer(client, now),
      trustsRbac: authorization === "rbac+review",
      kinds: [...new Set(endpoints.flatMap((row) => declaredPermissions(row).permissions.map(({ on }) => on)))],
    },
  };
}
