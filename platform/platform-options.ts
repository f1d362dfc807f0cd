// What one process of the platform is given.
import type { Logger } from "pino";
import type { AuthorizationMode } from "../api/access/access-reviewer.ts";
import type { TokenIssuerSettings } from "../api/identity/token-issuer.ts";
import type { ReflectorTiming } from "../kube/cache/reflector-timing.ts";
import type { RequestRecord } from "../kube/client/client.ts";
import type { ClusterAccess } from "../kube/client/create-client.ts";
import type { TLSKeyPair } from "./http/http-server.ts";
import type { WebhookListenOptions } from "./operations/name-webhook.ts";
import type { Operation } from "./operations/operations.ts";

export interface PlatformOptions {
  /** The Kubernetes API, with the platform's own identity. */
  access: ClusterAccess;
  operations: readonly Operation[];
  /** Folder for blobs and what backends keep. */
  data: string;
  /** How long a content that nothing refers to stays after its upload, in milliseconds; a day unless said. */
  unusedContentMs?: number;
  listen: { host: string; port: number; tls?: TLSKeyPair };
  /** The CF API's address as clients see it; default: the one it listens at. All replicas must be given the same. */
  publicURL?: string;
  /** Who decides about the rights of the CF API's callers; default `rbac`. */
  authorization?: AuthorizationMode;
  /** An issuer of tokens that kube-apiserver does not trust. */
  tokenIssuer?: TokenIssuerSettings;
  /** Where other replicas reach this one; default: loopback. */
  peerAddress?: string;
  /** Where the operation `webhook` listens; default: any port of loopback. */
  webhook?: WebhookListenOptions;
  log: Logger;
  /** Gives up a start that has not finished. */
  signal?: AbortSignal;
  /** Called for every request to the API server; for counting. */
  onRequest?: (record: RequestRecord) => void;
  /** Shorter times for tests that cannot wait for minutes. */
  watchTiming?: Partial<ReflectorTiming>;
  /** How long a killed replica still counts as alive; default 15. */
  leaseSeconds?: number;
  /** The holder of this process's Leases. One that is the same after a restart takes them back at once: only for a process that is the only one of its name. */
  leaderIdentity?: string;
  /** Milliseconds at the stop: how long it serves on while `/readyz` says not ready (0), then how long requests may take to end (5000). */
  shutdown?: { graceMs?: number; drainMs?: number };
}
