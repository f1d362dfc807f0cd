// The ClusterRole of whoever restores a backup by `cup import`: makes our objects with the GUIDs, owners and status that they had. Nobody has it until an operator binds it.
import type { KubeObject } from "../kube/api/object.ts";
import { Claim } from "./claim/claim.ts";
import { EXPORTED_KINDS, HISTORY_KINDS } from "./exported-kinds.ts";
import { GROUP } from "./groups.ts";
import { listClusterRoleNames, RESTORER_CLUSTER_ROLE } from "./roles.ts";

const RBAC = "rbac.authorization.k8s.io";

/** It deletes nothing and lists nothing. By Claims it is what admission policies ask of the platform itself; restorer-policy.ts restricts its Secrets. */
export function restorerRole(): KubeObject {
  const kinds = [...EXPORTED_KINDS, ...HISTORY_KINDS]
    .filter(({ group }) => group === GROUP)
    .map(({ plural }) => plural);
  return {
    apiVersion: `${RBAC}/v1`,
    kind: "ClusterRole",
    metadata: { name: RESTORER_CLUSTER_ROLE },
    rules: [
      { apiGroups: [GROUP], resources: kinds, verbs: ["get", "create", "update", "patch"] },
      { apiGroups: [GROUP], resources: kinds.map((plural) => `${plural}/status`), verbs: ["patch"] },
      // For owner references that block a deletion, where OwnerReferencesPermissionEnforcement is on, as on OpenShift.
      { apiGroups: [GROUP], resources: kinds.map((plural) => `${plural}/finalizers`), verbs: ["update"] },
      { apiGroups: [GROUP], resources: [Claim.plural], verbs: ["create"] },
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
