// Options of one process of the platform.
import type { Logger } from "pino";
import type { AuthorizationMode } from "../api/access/access-reviewer.ts";
import type { LoginSettings } from "../api/routing/login-service.ts";
import type { TokenIssuerSettings } from "../api/identity/token-issuer.ts";
import type { ReflectorTiming } from "../kube/cache/reflector-timing.ts";
import type { RequestRecord } from "../kube/client/client.ts";
import type { MembershipOptions } from "../kube/lease/member.ts";
import type { ClusterAccess } from "../kube/client/create-client.ts";
import type { TLSKeyPair } from "./http/http-server.ts";
import type { WebhookListenOptions } from "./webhook-options.ts";
import type { Operation } from "./operations/operations.ts";
import type { RegistrySettings } from "./registry-options.ts";

export interface PlatformOptions {
  /** The Kubernetes API, with the platform's own identity. */
  access: ClusterAccess;
  operations: readonly Operation[];
  /** Folder for blobs and for the data of backends. */
  data: string;
  /** How much of the disk of `data` uploads and conversions may use while they are under way; default: 32 GiB. */
  scratchBytes?: number;
  /** Where packages, droplets and images are kept; default: in a folder of `data`, which only a single replica can do with. */
  registry?: RegistrySettings;
  /** Milliseconds for which unreferenced content stays after its upload; default: a day. */
  unusedContentMs?: number;
  listen: { host: string; port: number; tls?: TLSKeyPair };
  /** Where Prometheus reads metrics of this process; default: nowhere, and none are kept. */
  metrics?: { host: string; port: number };
  /** OpenTelemetry's variables, where they ask for traces; default: none are made. */
  traces?: Readonly<Record<string, string | undefined>>;
  /** The CF API's address as clients see it; default: the one it listens at. All replicas must have the same. */
  publicURL?: string;
  /** How callers of the CF API are authorized; default `rbac`. */
  authorization?: AuthorizationMode;
  /** How clients without a kubeconfig log in; default: under no host name. */
  login?: LoginSettings;
  /** Where the DNS server of internal domains answers; default: any port of loopback. */
  internalDNS?: { host: string; port: number };
  /** The SSH proxy: where it listens, in the process that runs it, and `host:port` as clients see it. */
  ssh?: { listen?: { host: string; port: number }; address?: string };
  /** Where the proxy of route services listens; default: any port of loopback. */
  routeServices?: { listen: { host: string; port: number } };
  /** The hub that an agent calls, where it cannot call this cluster. */
  hub?: HubSettings;
  /** An issuer of tokens that kube-apiserver does not trust. */
  tokenIssuer?: TokenIssuerSettings;
  /** Where other replicas reach this one; default: loopback. */
  peerAddress?: string;
  /** Where the operation `webhook` listens; default: any port of loopback. */
  webhook?: WebhookListenOptions;
  /** Variables for every build on this machine, such as proxies: a laptop's alone. */
  buildSettings?: Record<string, string>;
  /** Where docker keeps the logins of this machine's user, for buildpacks of private registries: a laptop's alone. */
  dockerFolder?: string;
  log: Logger;
  /** Aborts an unfinished start. */
  signal?: AbortSignal;
  /** Called for every request to the API server, for example to count them. */
  onRequest?: (record: RequestRecord) => void;
  /** Called when the cluster went back to an earlier state: only a restart forgets all that this process knows. */
  onRewound?: MembershipOptions["onRewound"];
  /** Shorter times for tests that cannot wait for minutes. */
  watchTiming?: Partial<ReflectorTiming>;
  /** How long a killed replica still counts as alive; default 15. */
  leaseSeconds?: number;
  /** Holder identity of this process's Leases. A process with the same identity after a restart reacquires them at once, so no two processes may share it. */
  leaderIdentity?: string;
  /** Milliseconds at shutdown: how long it serves while `/readyz` is not ready (default 0), then how long open requests may take (default 5000). */
  shutdown?: { graceMs?: number; drainMs?: number };
}

export interface HubSettings {
  /** URL of its API server. */
  server: string;
  ca?: string;
  /** Name of this cluster there. */
  cluster: string;
  /** A token of the agent's account on the hub. @throws Error while its file cannot be read */
  readToken(): string;
  /** A token of the hub's account on this cluster. @throws Error while its file cannot be read */
  readAccountToken(): string;
}
