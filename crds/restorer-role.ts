// The ClusterRole of whoever restores a backup by `cup import`: makes our objects with the GUIDs, owners and status that they had. Nobody has it until an operator binds it.
import type { KubeObject } from "../kube/api/object.ts";
import { GROUP } from "./groups.ts";
import { listClusterRoleNames, RESTORER_CLUSTER_ROLE } from "./roles.ts";

const RBAC = "rbac.authorization.k8s.io";

/** It deletes nothing and lists nothing. By Claims it is what admission policies ask of the platform itself. */
export function restorerRole(): KubeObject {
  return {
    apiVersion: `${RBAC}/v1`,
    kind: "ClusterRole",
    metadata: { name: RESTORER_CLUSTER_ROLE },
    rules: [
      { apiGroups: [GROUP], resources: ["*"], verbs: ["get", "create", "update", "patch"] },
      { apiGroups: [""], resources: ["secrets"], verbs: ["get", "create", "patch"] },
      { apiGroups: [RBAC], resources: ["rolebindings"], verbs: ["get", "create", "patch"] },
      {
        apiGroups: [RBAC],
        resources: ["clusterroles"],
        resourceNames: [...listClusterRoleNames("org"), ...listClusterRoleNames("space")],
        verbs: ["bind"],
      },
    ],
  };
}
