// Who calls, once authenticated.
import type { KubeClient } from "../../kube/client/client.ts";

export interface Caller {
  /** Kubernetes user name; also the CF user GUID. */
  name: string;
  kind: "User" | "ServiceAccount";
  /** Every group, `system:authenticated` included. */
  groups: readonly string[];
  /** The platform's client turned into one that speaks as this caller. The credential behind it lives as long as the request. */
  connect: (platform: KubeClient) => KubeClient;
}
