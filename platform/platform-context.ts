// State and clients that the parts of one process share.
import type { RequestListener } from "node:http";
import type { Logger } from "pino";
import type { BlobStore } from "../blobs/blob-store.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { Membership } from "../kube/lease/membership.ts";
import type { Readiness } from "../kube/server/readiness.ts";
import type { Tracing } from "../kube/tracing/tracing.ts";
import type { Informers } from "../kube/cache/informers.ts";
import type { Api } from "../api/server.ts";
import type { RemoteProcesses } from "../backends/remote-process.ts";
import type { Clusters } from "./operations/clusters.ts";
import type { Backend } from "./operations/backends.ts";
import type { ProcessMetrics } from "./metrics/process-metrics.ts";
import type { PlatformRegistry } from "./open-blobs.ts";
import type { PeerServer } from "./peers/peer-server.ts";
import type { PlatformOptions } from "./platform-options.ts";
import type { ProcessPolicies } from "./policies/start-policies.ts";
import type { LocalTelemetry } from "./telemetry/telemetry-server.ts";

/** Whether instances outlive this process. Set at shutdown. */
export interface ShutdownMode {
  instances: "keep" | "end";
}

/** Shared by all operations of the process. Every started part adds itself to `disposables`, which stop in reverse order. */
export interface PlatformContext {
  options: PlatformOptions;
  /** Name of this process among the replicas, on each line of its log. */
  identity: string;
  log: Logger;
  client: KubeClient;
  informers: Informers;
  blobs: BlobStore;
  /** Absent when blobs are kept in a folder. */
  registry?: PlatformRegistry;
  /** The runners of this process that run programs beside their instances. */
  remoteProcesses: RemoteProcesses;
  /** Other clusters, in a process that runs controllers. */
  clusters?: Clusters;
  readiness: Readiness;
  membership: Membership;
  /** Undefined where no operation of this process judges by operator policy. */
  policies?: ProcessPolicies;
  disposables: AsyncDisposableStack;
  shutdownMode: ShutdownMode;
  signal: AbortSignal;
  apiURL: string;
  /** Present where this process is scraped. */
  metrics?: ProcessMetrics | undefined;
  /** Present where this process makes traces. */
  tracing?: Tracing | undefined;
}

/** The handlers behind the HTTP port; each is set once it exists. */
export interface RequestHandlers {
  api?: Api;
  /** Logs and stats for the hub of this cluster. */
  hubLogs?: RequestListener;
  backends: readonly Backend[];
}

/** The context before this process has joined the other replicas. */
export type StartupContext = Omit<PlatformContext, "membership" | "policies">;

/** The servers that other processes of the platform call. */
export interface PeerServers extends LocalTelemetry {
  peers?: PeerServer;
}
