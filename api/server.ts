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
import { createAuthenticator } from "./identity/authenticate.ts";
import { createTokenIssuer, type TokenIssuerSettings } from "./identity/token-issuer.ts";
import { JOB_KEY } from "./jobs/job-key.ts";
import { createEndpoints } from "./endpoints.ts";
import type { Endpoint } from "./routing/endpoint.ts";
import { createRouting } from "./routing/routing.ts";
import { createPeerGroup, type PeerDirectory, type PeerGroup } from "./peers/peer-group.ts";
import { type AuthorizationMode, createAccessReviewer } from "./access/access-reviewer.ts";
import { createCallerPermissions, type CallerPermissionsDeps } from "./access/create-caller-permissions.ts";
import { declaredPermissions } from "./access/declared-permissions.ts";
import { createSession } from "./access/create-session.ts";
import { createRecentEvents } from "./cf/audit/recent-events.ts";
import { type AppLog, recordWrites } from "./cf/audit/record-writes.ts";
import { createClusterCache, type ClusterCache } from "./cache/cluster-cache.ts";
import { createHeldReads } from "./cache/held-reads.ts";

/** Deadline of a permission check outside of a session, milliseconds. */
const DECIDE_TIMEOUT_MS = 10_000;

export interface ApiDeps {
  /** Has the platform's own identity. The API never writes tenants' resources with it, except for claims and Secrets. */
  client: KubeClient;
  /** Watches of the platform's identity; shared ones need `transform: recordLastWrite` (api/cache/object-times.ts). */
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
  /** An issuer that kube-apiserver does not trust; the platform impersonates its users. Default: none. */
  tokenIssuer?: TokenIssuerSettings;
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
  const { client, informers, telemetry, blobs, images, log, peers, now = () => new Date() } = deps;
  const cache = createClusterCache(informers);
  // Prefetched, so that the first deletion does not wait for it; a failure surfaces in the request that needs it.
  JOB_KEY.get(client).catch(() => undefined);
  const readPodUsage = createPodUsageReader({ client, now });
  const endpoints = createEndpoints({ telemetry, readPodUsage, blobs, images, cache, platformClient: client, now });
  const permissions = permissionsOf({ ...deps, now }, cache, endpoints);
  const peerGroup = createPeerGroup({ cache, log, ...peers });
  const heldReads = createHeldReads(cache);
  const sessionDeps = {
    cache,
    heldReads,
    platformClient: client,
    peers: peerGroup,
    now,
    log,
    policies: deps.policies ?? (() => NO_POLICIES),
    review: permissions.review,
    ...(deps.url !== undefined && { apiHost: new URL(deps.url).hostname }),
  };
  const recorders = { ...deps, cache, now, recentEvents: createRecentEvents(cache) };
  const handler = createRouting({
    endpoints,
    log,
    ...(deps.url !== undefined && { url: deps.url }),
    authenticate: authenticatorOf({ ...deps, now }, permissions),
    waitUntilCurrent: () => peerGroup.waitUntilCurrent(),
    createSession: (request) => recordWrites(createSession(sessionDeps, request), recorders, request),
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

/** Each question is decided on its own, so none is reviewed in advance. */
const IMPERSONATION = declaredPermissions({ method: "GET", path: "", permission: "authenticated" });

type ClockedDeps = ApiDeps & Required<Pick<ApiDeps, "now">>;

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

function authenticatorOf({ client, tokenIssuer, log, now }: ClockedDeps, permissions: CallerPermissionsDeps) {
  return createAuthenticator({
    client,
    decide: (caller, asked) =>
      createCallerPermissions(permissions, {
        caller,
        signal: AbortSignal.timeout(DECIDE_TIMEOUT_MS),
        declared: IMPERSONATION,
        writes: true,
      }).decide(asked),
    issuer: tokenIssuer && createTokenIssuer(tokenIssuer, { now, log }),
    now,
  });
}
