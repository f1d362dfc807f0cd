// The CF API as one request handler. It does not listen: platform/ does, and owns the client and the watches.
import type { Express } from "express";
import type { Logger } from "pino";
import type { BlobStore } from "../blobs/blob-store.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { Watches } from "../kube/cache/informers.ts";
import type { TelemetryClient } from "../telemetry/telemetry-client.ts";
import { createAuthenticator } from "./identity/authenticate.ts";
import { createTokenIssuer, type TokenIssuerSettings } from "./identity/token-issuer.ts";
import { allEndpoints } from "./endpoints.ts";
import { createRouting } from "./http/routing.ts";
import { createReplicas, type PeerDirectory, type Replicas } from "./peers/peer-group.ts";
import { type AuthorizationMode, createReviews } from "./access/access-reviewer.ts";
import { createRights, declaredRights } from "./access/caller-permissions.ts";
import { createSession } from "./access/session.ts";
import { createView, type View } from "./cache/cluster-cache.ts";

/** Deadline of a question outside of a session, milliseconds. */
const DECIDE_MS = 10_000;

export interface ApiDeps {
  /** The platform's own identity. Tenants' nouns are never written with it. */
  client: KubeClient;
  /** Watches of the platform's identity; make them with `transform: keepUpdatedAt` (lib/times.ts) when they are shared. */
  watches: Watches;
  telemetry: TelemetryClient;
  blobs: BlobStore;
  log: Logger;
  /** Address that links carry, e.g. `https://api.example.org`, without a trailing slash. Without it links carry the request's Host. */
  url?: string;
  /** The other replicas, and the token that opens each by its URL. Without it this is the only one. */
  peers?: { directory: PeerDirectory; tokenFor: (url: string) => string };
  now?: () => Date;
  /** Where rights come from; `rbac` unless said. */
  authorization?: AuthorizationMode;
  /** An issuer that kube-apiserver does not trust, whose users the platform speaks for. None unless said. */
  tokenIssuer?: TokenIssuerSettings;
}

export interface Api {
  handler: Express;
  /** Whether everything this API reads has been ingested and it knows what the other replicas have written: serve only then. */
  ready(): boolean;
  /** True as soon as `ready`, false at the deadline (milliseconds). */
  waitReady(deadlineMs: number): Promise<boolean>;
  readonly view: View;
  /** This replica among the others. Whoever made the API calls `meet` after joining, and `close`. */
  readonly replicas: Replicas;
}

/** Starts watching and returns the handler; requests are answered 503 until the data is there. @throws Error when the token issuer's settings are unsafe */
export function createApi({ client, watches, telemetry, blobs, log, url, peers, tokenIssuer, authorization = "rbac", now = () => new Date() }: ApiDeps): Api {
  const view = createView(watches);
  const endpoints = allEndpoints({ telemetry, blobs, view, platform: client, now });
  const rights = { authorization: view.authorization, ...(authorization !== "rbac" && { review: { reviews: createReviews(client, now), trustsRbac: authorization === "rbac+review", declared: declaredRights(endpoints) } }) };
  const replicas = createReplicas({ view, log, ...peers });
  const deps = { view, platform: client, replicas, now, review: rights.review };
  const handler = createRouting({
    endpoints,
    log,
    ...(url !== undefined && { url }),
    authenticate: createAuthenticator({ client, decide: (caller, asked) => createRights(rights, { caller, signal: AbortSignal.timeout(DECIDE_MS), writes: true }).decide(asked), issuer: tokenIssuer && createTokenIssuer(tokenIssuer, { now, log }), now }),
    current: () => replicas.current(),
    session: (request) => createSession(deps, request),
  });
  return { handler, view, replicas, ready: () => view.synced() && replicas.ready(), waitReady: (deadlineMs) => view.waitSynced(deadlineMs) };
}
