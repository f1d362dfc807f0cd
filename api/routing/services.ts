// Dependencies that endpoints close over. createEndpoints passes them to each resource's rows.
import type { BlobStore } from "../../blobs/blob-store.ts";
import type { ImageStore } from "../../blobs/image-store.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { ReadPodUsage } from "../../telemetry/pods/pod-usage.ts";
import type { TelemetryClient } from "../../telemetry/telemetry-client.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import type { LoginService } from "./login-service.ts";
import type { SSHService } from "./ssh-service.ts";

export interface Services {
  telemetry: TelemetryClient;
  readPodUsage: ReadPodUsage;
  blobs: BlobStore;
  /** Droplets that are images; undefined where blobs are kept in a folder. */
  images: ImageStore | undefined;
  cache: ClusterCache;
  /** The platform's own client. */
  platformClient: KubeClient;
  login: LoginService;
  /** Undefined where no proxy serves `cf ssh`. */
  ssh: SSHService | undefined;
  now: () => Date;
}
