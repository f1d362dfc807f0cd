// What endpoints use besides the cluster. Handed to each resource's list of rows when the table is made.
import type { BlobStore } from "../blobs/store.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { TelemetryClient } from "../telemetry/client.ts";
import type { View } from "./view.ts";

export interface Services {
  telemetry: TelemetryClient;
  blobs: BlobStore;
  view: View;
  /** The platform's own client. */
  platform: KubeClient;
  now: () => Date;
}
