// The account by which a hub works on a cluster where the platform is installed as a spoke: its roles, and its token. hub-policies.ts confines its writes.
import type { KubeObject } from "../kube/api/object.ts";
import { BackendClass } from "./backend-class/backend-class.ts";
import { BUNDLE_KINDS } from "./cluster-bundle/bundle-kinds.ts";
import { Claim } from "./claim/claim.ts";
import { FACTS_CONFIG } from "./cluster/spoke-facts.ts";
import { SYSTEM_NAMESPACE, WORKLOADS_GROUP } from "./groups.ts";
import { INTERNAL_LABELS } from "./labels.ts";
import { LRP } from "./lrp/lrp.ts";
import { NETWORK_CONFIG } from "./network-config.ts";
import { RouteBinding } from "./route-binding/route-binding.ts";
import { TaskRun } from "./task-run/task-run.ts";

const RBAC = "rbac.authorization.k8s.io";

/** The ServiceAccount in the system namespace of a spoke. */
export const HUB_ACCOUNT = "cupola-hub";
/** The Secret with its token and the cluster's authority. Deleting it takes the token back. */
export const HUB_TOKEN_SECRET = "cupola-hub-token";
/** The Secret in which the agent of a cluster that the hub cannot call keeps its own token for the hub. */
export const AGENT_TOKEN_SECRET = "cupola-agent-token";
/** Its role in the namespaces that it makes; the spoke's agent binds it there. */
export const HUB_SPACE_ROLE = "cupola-hub-secrets";
/** Its role for ClusterBundles, by name alone. The chart binds it in the namespaces that the values of the spoke name, and nowhere else. */
const HUB_BUNDLE_ROLE = "cupola-hub-bundles";
/** Its name in requests. */
export const HUB_USER = `system:serviceaccount:${SYSTEM_NAMESPACE}:${HUB_ACCOUNT}`;

/** Service of a spoke whose processes serve the logs and stats there to the hub. */
export const HUB_LOGS_SERVICE = "cupola-logs";
/** The Service and its port, as the API server's proxy names them. */
export const HUB_LOGS_PROXY = `https:${HUB_LOGS_SERVICE}:https`;
/** Carries the hub's token to those processes: an API server's proxy keeps `Authorization` for itself. */
export const HUB_TOKEN_HEADER = "x-cupola-token";

/** It may see and write what the hub makes. It reads no Secret, not even its own: their names are digests of their content. */
const CLUSTER_RULES: readonly object[] = [
  { apiGroups: [""], resources: ["namespaces"], verbs: ["get", "list", "watch", "create", "patch"] },
  {
    apiGroups: [WORKLOADS_GROUP],
    resources: [LRP.plural, TaskRun.plural, RouteBinding.plural],
    verbs: ["get", "list", "watch", "create", "patch", "delete"],
  },
  { apiGroups: [WORKLOADS_GROUP], resources: [BackendClass.plural], verbs: ["get", "list", "watch"] },
];

const BUNDLE_RULES: readonly object[] = [...new Set(BUNDLE_KINDS.map(({ group }) => group))].map((group) => ({
  apiGroups: [group],
  resources: BUNDLE_KINDS.filter((one) => one.group === group).map(({ plural }) => plural),
  verbs: ["get", "create", "patch", "delete"],
}));

const SYSTEM_RULES: readonly object[] = [
  // The right that marks the platform's identities for admission policies. A spoke does not have the kind.
  { apiGroups: [Claim.group], resources: [Claim.plural], verbs: ["create"] },
  { apiGroups: [""], resources: ["configmaps"], resourceNames: [FACTS_CONFIG, NETWORK_CONFIG], verbs: ["get"] },
  { apiGroups: [""], resources: ["services/proxy"], resourceNames: [HUB_LOGS_PROXY], verbs: ["get"] },
];

export function hubAccountObjects(): KubeObject[] {
  const inSystem = { namespace: SYSTEM_NAMESPACE, name: HUB_ACCOUNT };
  const subjects = [{ kind: "ServiceAccount", ...inSystem }];
  const ref = (kind: string): object => ({ apiGroup: RBAC, kind, name: HUB_ACCOUNT });
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: inSystem },
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: {
        namespace: SYSTEM_NAMESPACE,
        name: HUB_TOKEN_SECRET,
        annotations: { "kubernetes.io/service-account.name": HUB_ACCOUNT },
      },
      type: "kubernetes.io/service-account-token",
    },
    clusterRole(HUB_ACCOUNT, CLUSTER_RULES),
    {
      apiVersion: `${RBAC}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name: HUB_ACCOUNT },
      roleRef: ref("ClusterRole"),
      subjects,
    },
    clusterRole(HUB_SPACE_ROLE, [{ apiGroups: [""], resources: ["secrets"], verbs: ["create"] }]),
    clusterRole(HUB_BUNDLE_ROLE, BUNDLE_RULES),
    { apiVersion: `${RBAC}/v1`, kind: "Role", metadata: inSystem, rules: SYSTEM_RULES },
    {
      apiVersion: `${RBAC}/v1`,
      kind: "RoleBinding",
      metadata: { ...inSystem, labels: { [INTERNAL_LABELS.spaceRole]: HUB_SPACE_ROLE } },
      roleRef: ref("Role"),
      subjects,
    },
  ];
}

function clusterRole(name: string, rules: readonly object[]): KubeObject {
  return { apiVersion: `${RBAC}/v1`, kind: "ClusterRole", metadata: { name }, rules } as KubeObject;
}
