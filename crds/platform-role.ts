// The permissions of a process that does all operations, as on a laptop. platform/operations/permissions.ts generates the minimal ones per operation.
import type { KubeObject } from "../kube/api/object.ts";
import { CONSTRAINTS_GROUP, GROUP, SYSTEM_NAMESPACE, WORKLOADS_GROUP } from "./groups.ts";
import { CLUSTER_READER, POLICY_READER, SYSTEM_READER } from "./roles.ts";

const RBAC = "rbac.authorization.k8s.io";
export const PLATFORM_CLUSTER_ROLE = "cupola-platform";
/** Group of the platform's identities on a laptop; a ServiceAccount in a cluster. */
export const PLATFORM_GROUP = "cupola:platform";

const PLATFORM_RULES: readonly object[] = [
  { apiGroups: [GROUP, WORKLOADS_GROUP, CONSTRAINTS_GROUP], resources: ["*"], verbs: ["*"] },
  {
    apiGroups: [""],
    resources: ["namespaces", "secrets", "services", "events", "serviceaccounts"],
    verbs: ["get", "list", "watch", "create", "update", "patch", "delete"],
  },
  { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch"] },
  { apiGroups: [""], resources: ["persistentvolumeclaims"], verbs: ["get"] },
  { apiGroups: [""], resources: ["pods", "pods/log"], verbs: ["get", "list", "watch", "create", "patch", "delete"] },
  {
    apiGroups: ["apps"],
    resources: ["deployments", "statefulsets"],
    verbs: ["get", "list", "watch", "create", "update", "patch", "delete"],
  },
  {
    apiGroups: ["batch"],
    resources: ["jobs"],
    verbs: ["get", "list", "watch", "create", "update", "patch", "delete"],
  },
  {
    apiGroups: ["policy"],
    resources: ["poddisruptionbudgets"],
    verbs: ["get", "list", "watch", "create", "update", "patch", "delete"],
  },
  {
    apiGroups: ["networking.k8s.io"],
    resources: ["ingresses", "networkpolicies"],
    verbs: ["get", "list", "watch", "create", "update", "patch", "delete"],
  },
  { apiGroups: ["networking.k8s.io"], resources: ["ingressclasses"], verbs: ["get", "list", "watch"] },
  {
    apiGroups: ["gateway.networking.k8s.io"],
    resources: ["httproutes", "tcproutes", "referencegrants"],
    verbs: ["get", "list", "watch", "create", "update", "patch", "delete"],
  },
  {
    apiGroups: ["coordination.k8s.io"],
    resources: ["leases"],
    verbs: ["get", "list", "watch", "create", "update", "patch", "delete"],
  },
  {
    apiGroups: [RBAC],
    resources: ["roles", "rolebindings", "clusterroles", "clusterrolebindings"],
    verbs: ["get", "list", "watch", "create", "update", "patch", "delete", "bind"],
  },
  {
    apiGroups: ["apiextensions.k8s.io"],
    resources: ["customresourcedefinitions"],
    verbs: ["get", "list", "watch", "create", "update", "patch", "delete"],
  },
  {
    apiGroups: ["admissionregistration.k8s.io"],
    resources: ["validatingadmissionpolicies", "validatingadmissionpolicybindings"],
    verbs: ["get", "list", "watch", "create", "update", "patch", "delete"],
  },
  // The webhook's own.
  {
    apiGroups: ["admissionregistration.k8s.io"],
    resources: ["validatingwebhookconfigurations"],
    resourceNames: ["cupola"],
    verbs: ["get", "list", "watch", "create", "patch"],
  },
  { apiGroups: ["metrics.k8s.io"], resources: ["pods"], verbs: ["list"] },
  { apiGroups: ["authentication.k8s.io"], resources: ["tokenreviews"], verbs: ["create"] },
  { apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"] },
];

/** The platform's ClusterRole. The platform uses Secrets only in its own namespaces, but RBAC cannot express that here. */
export function platformRole(): KubeObject {
  return {
    apiVersion: `${RBAC}/v1`,
    kind: "ClusterRole",
    metadata: { name: PLATFORM_CLUSTER_ROLE },
    rules: PLATFORM_RULES,
  };
}

/** The system namespace and the bindings of what every authenticated user may read. */
export function authenticatedUserBindings(): KubeObject[] {
  const everyone = [{ kind: "Group", apiGroup: RBAC, name: "system:authenticated" }];
  const ref = (name: string): object => ({ apiGroup: RBAC, kind: "ClusterRole", name });
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: SYSTEM_NAMESPACE } },
    {
      apiVersion: `${RBAC}/v1`,
      kind: "RoleBinding",
      metadata: { name: SYSTEM_READER, namespace: SYSTEM_NAMESPACE },
      roleRef: ref(SYSTEM_READER),
      subjects: everyone,
    },
    {
      apiVersion: `${RBAC}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name: CLUSTER_READER },
      roleRef: ref(CLUSTER_READER),
      subjects: everyone,
    },
    {
      apiVersion: `${RBAC}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name: POLICY_READER },
      roleRef: ref(POLICY_READER),
      subjects: everyone,
    },
    {
      apiVersion: `${RBAC}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name: PLATFORM_CLUSTER_ROLE },
      roleRef: ref(PLATFORM_CLUSTER_ROLE),
      subjects: [{ kind: "Group", apiGroup: RBAC, name: PLATFORM_GROUP }],
    },
  ];
}
