// The authenticated caller of a request.
import type { KubeClient } from "../../kube/client/client.ts";

export interface Caller {
  /** Kubernetes user name; also the CF user GUID. */
  name: string;
  kind: "User" | "ServiceAccount";
  /** All groups, including `system:authenticated`. */
  groups: readonly string[];
  /** Extra attributes from the cluster's authenticators, for authorizers other than RBAC. */
  uid?: string;
  extra?: Record<string, string[]>;
  /** A Kubernetes client that acts as this caller. Its credential lives only as long as the request. */
  connect: (platform: KubeClient) => KubeClient;
}
