// The CF API as one request handler. It does not listen: platform/ does, and owns the client and the watches.
import type { Express } from "express";
import type { Logger } from "pino";
import type { BlobStore } from "../blobs/blob-store.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { Informers } from "../kube/cache/informers.ts";
import type { TelemetryClient } from "../telemetry/telemetry-client.ts";
import { createAuthenticator } from "./identity/authenticate.ts";
import { createTokenIssuer, type TokenIssuerSettings } from "./identity/token-issuer.ts";
import { getJobKey } from "./jobs/job-key.ts";
import { createEndpoints } from "./endpoints.ts";
import type { Endpoint } from "./http/endpoint.ts";
import { createRouting } from "./http/routing.ts";
import { createPeerGroup, type PeerDirectory, type PeerGroup } from "./peers/peer-group.ts";
import { type AuthorizationMode, createAccessReviewer } from "./access/access-reviewer.ts";
import { createCallerPermissions, type CallerPermissionsDeps } from "./access/create-caller-permissions.ts";
import { listRequiredPermissions } from "./access/required-permission.ts";
import { createSession } from "./access/create-session.ts";
import type { AppLog } from "./access/session.ts";
import { createClusterCache, type ClusterCache } from "./cache/cluster-cache.ts";
import { createHeldReads } from "./cache/held-reads.ts";

/** Deadline of a question outside of a session, milliseconds. */
const DECIDE_TIMEOUT_MS = 10_000;

export interface ApiDeps {
  /** The platform's own identity. Tenants' nouns are never written with it. */
  client: KubeClient;
  /** Watches of the platform's identity; shared ones need `transform: recordLastWrite` (api/cache/object-times.ts). */
  informers: Informers;
  telemetry: TelemetryClient;
  blobs: BlobStore;
  log: Logger;
  /** Address that links carry, e.g. `https://api.example.org`, without a trailing slash. Without it links carry the request's Host. */
  url?: string;
  /** The other replicas, and the token that opens each by its URL. Without it this is the only one. */
  peers?: { directory: PeerDirectory; tokenFor: (url: string) => string };
  now?: () => Date;
  /** Takes the lines that the API writes into apps' logs. Without it there are none. */
  appLog?: AppLog;
  /** Where rights come from; `rbac` unless said. */
  authorization?: AuthorizationMode;
  /** An issuer that kube-apiserver does not trust, whose users the platform speaks for. None unless said. */
  tokenIssuer?: TokenIssuerSettings;
}

export interface Api {
  handler: Express;
  /** Whether everything this API reads has been ingested and it knows what the other replicas have written: serve only then. */
  isReady(): boolean;
  /** True as soon as `ready`, false at the deadline (milliseconds). */
  waitUntilReady(deadlineMs: number): Promise<boolean>;
  readonly cache: ClusterCache;
  /** Answers all held requests and holds none from now on. Call it when the process begins to shut down. */
  releaseHeld(): void;
  /** This replica among the others. Whoever made the API calls `meet` after joining, and `close`. */
  readonly peers: PeerGroup;
}

/** Starts watching and returns the handler; requests are answered 503 until the data is there. @throws Error when the token issuer's settings are unsafe */
export function createApi(deps: ApiDeps): Api {
  const { client, informers, telemetry, blobs, log, peers, now = () => new Date() } = deps;
  const cache = createClusterCache(informers);
  // Read ahead, so that the first deletion does not wait for it; a failure shows at the request that needs it.
  getJobKey(client).catch(() => undefined);
  const endpoints = createEndpoints({ telemetry, blobs, cache, platformClient: client, now });
  const permissions = permissionsOf({ ...deps, now }, cache, endpoints);
  const peerGroup = createPeerGroup({ cache, log, ...peers });
  const heldReads = createHeldReads(cache);
  const sessionDeps = {
    cache,
    heldReads,
    platformClient: client,
    peers: peerGroup,
    now,
    review: permissions.review,
    ...(deps.appLog && { appLog: deps.appLog }),
  };
  const handler = createRouting({
    endpoints,
    log,
    ...(deps.url !== undefined && { url: deps.url }),
    authenticate: authenticatorOf({ ...deps, now }, permissions),
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
      requiredPermissions: listRequiredPermissions(endpoints.map(({ permission }) => permission)),
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
        writes: true,
      }).decide(asked),
    issuer: tokenIssuer && createTokenIssuer(tokenIssuer, { now, log }),
    now,
  });
}
