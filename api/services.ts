// Dependencies that endpoints close over. createEndpoints passes them to each resource's rows.
import type { BlobStore } from "../blobs/blob-store.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { ReadPodUsage } from "../telemetry/pods/pod-usage.ts";
import type { TelemetryClient } from "../telemetry/telemetry-client.ts";
import type { ClusterCache } from "./cache/cluster-cache.ts";

export interface Services {
  telemetry: TelemetryClient;
  readPodUsage: ReadPodUsage;
  blobs: BlobStore;
  cache: ClusterCache;
  /** The platform's own client. */
  platformClient: KubeClient;
  now: () => Date;
}
