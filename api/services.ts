// What endpoints use besides the cluster. Handed to each resource's list of rows when the table is made.
import type { BlobStore } from "../blobs/blob-store.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { TelemetryClient } from "../telemetry/telemetry-client.ts";
import type { ClusterCache } from "./cache/cluster-cache.ts";

export interface Services {
  telemetry: TelemetryClient;
  blobs: BlobStore;
  cache: ClusterCache;
  /** The platform's own client. */
  platformClient: KubeClient;
  now: () => Date;
}
