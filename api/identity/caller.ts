// Who calls, once authenticated.
import type { KubeClient } from "../../kube/client/client.ts";

export interface Caller {
  /** Kubernetes user name; also the CF user GUID. */
  name: string;
  kind: "User" | "ServiceAccount";
  /** Every group, `system:authenticated` included. */
  groups: readonly string[];
  /** What else the cluster's authenticators said of the caller; authorizers other than RBAC may look at it. */
  uid?: string;
  extra?: Record<string, string[]>;
  /** The platform's client turned into one that speaks as this caller. The credential behind it lives as long as the request. */
  connect: (platform: KubeClient) => KubeClient;
}
