// What the parts of one process share, and what they are told by it.
import type { Logger } from "pino";
import type { BlobStore } from "../blobs/blob-store.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { Membership } from "../kube/lease/membership.ts";
import type { Readiness } from "../kube/server/readiness.ts";
import type { Informers } from "../kube/cache/informers.ts";
import type { Api } from "../api/server.ts";
import type { Backend } from "./operations/backends.ts";
import type { PeerServer } from "./peers/peer-server.ts";
import type { PlatformOptions } from "./platform-options.ts";
import type { LocalTelemetry } from "./telemetry/telemetry-server.ts";

/** What becomes of the instances when this process ends: said at the stop. */
export interface ShutdownMode {
  instances: "keep" | "end";
}

/** What every operation of the process shares. Whatever is started is put on `ends`, so that it ends in reverse. */
export interface PlatformContext {
  options: PlatformOptions;
  log: Logger;
  client: KubeClient;
  informers: Informers;
  blobs: BlobStore;
  readiness: Readiness;
  membership: Membership;
  disposables: AsyncDisposableStack;
  shutdownMode: ShutdownMode;
  signal: AbortSignal;
  apiURL: string;
}

/** What answers at the front door, as soon as it is there. */
export interface RequestHandlers {
  api?: Api;
  backends: readonly Backend[];
}

/** The same before this process has joined the others. */
export type StartupContext = Omit<PlatformContext, "membership">;

/** Where other processes of the platform read from this one. */
export interface PeerServers extends LocalTelemetry {
  peers?: PeerServer;
}
