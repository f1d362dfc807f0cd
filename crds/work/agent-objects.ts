// Objects of a cluster of mode pull on the hub: a namespace, the account of its agent with the least rights, and the rights of the platform's processes there.
import type { KubeObject } from "../../kube/api/object.ts";
import { Cluster } from "../cluster/cluster.ts";
import { SYSTEM_NAMESPACE, WORKLOADS_GROUP } from "../groups.ts";
import { AGENT_ACCOUNT, AGENT_LEASE, clusterNamespace } from "./names.ts";
import { Work } from "./work.ts";

const RBAC = "rbac.authorization.k8s.io";
const LEASES = { apiGroups: ["coordination.k8s.io"], resources: ["leases"], resourceNames: [AGENT_LEASE] };

/** Rights of the agent in its namespace. Policies confine its patches (policies.ts). */
const AGENT_RULES: readonly object[] = [
  { apiGroups: [WORKLOADS_GROUP], resources: [Work.plural], verbs: ["get", "list", "watch", "patch"] },
  { apiGroups: [WORKLOADS_GROUP], resources: [`${Work.plural}/status`], verbs: ["patch"] },
  { apiGroups: [""], resources: ["secrets"], verbs: ["get"] },
  { ...LEASES, verbs: ["get", "patch"] },
  { apiGroups: [""], resources: ["serviceaccounts/token"], resourceNames: [AGENT_ACCOUNT], verbs: ["create"] },
];

/** Rights of the processes that run controllers, there. */
const PLATFORM_RULES: readonly object[] = [
  {
    apiGroups: [WORKLOADS_GROUP],
    resources: [Work.plural],
    verbs: ["get", "list", "watch", "create", "patch", "delete"],
  },
  { apiGroups: [""], resources: ["secrets"], verbs: ["create"] },
  // A deleted Cluster takes the rights of its agent back.
  { apiGroups: [""], resources: ["serviceaccounts"], resourceNames: [AGENT_ACCOUNT], verbs: ["delete"] },
  { ...LEASES, verbs: ["get"] },
];

/** Name of the agent's Role and RoleBinding in the system namespace. */
export function agentReportRole(cluster: string): string {
  return clusterNamespace(cluster);
}

/** `platform`: the accounts of the processes that run controllers; none on a laptop, where they may do everything. */
export function pullClusterObjects(cluster: string, platform: readonly object[]): KubeObject[] {
  const namespace = clusterNamespace(cluster);
  const agent = { kind: "ServiceAccount", namespace, name: AGENT_ACCOUNT };
  const reports = { apiGroups: [Cluster.group], resourceNames: [cluster] };
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace, name: AGENT_ACCOUNT } },
    { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { namespace, name: AGENT_LEASE } },
    ...grant({ namespace, name: "cupola-agent" }, AGENT_RULES, [agent]),
    ...grant(
      { namespace: SYSTEM_NAMESPACE, name: agentReportRole(cluster) },
      [
        { ...reports, resources: [Cluster.plural], verbs: ["get"] },
        { ...reports, resources: [`${Cluster.plural}/status`], verbs: ["patch"] },
      ],
      [agent],
    ),
    ...(platform.length > 0 ? grant({ namespace, name: "cupola-platform" }, PLATFORM_RULES, platform) : []),
  ];
}

function grant(
  metadata: { namespace: string; name: string },
  rules: readonly object[],
  subjects: readonly object[],
): KubeObject[] {
  const roleRef = { apiGroup: RBAC, kind: "Role", name: metadata.name };
  return [
    { apiVersion: `${RBAC}/v1`, kind: "Role", metadata, rules } as KubeObject,
    { apiVersion: `${RBAC}/v1`, kind: "RoleBinding", metadata, roleRef, subjects } as KubeObject,
  ];
}
