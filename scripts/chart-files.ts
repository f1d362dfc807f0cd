// The generated objects as the Helm chart needs them: without the namespace, which Helm makes, and without what only a laptop or one process for all needs.
import type { KubeObject } from "../kube/api/object.ts";
import { hubAccountObjects } from "../crds/hub-account.ts";
import { listManifests } from "../crds/manifests.ts";
import { listSpokePolicies } from "../crds/spoke-manifests.ts";
import { PLATFORM_CLUSTER_ROLE } from "../crds/platform-role.ts";
import { listFlowControl } from "../platform/operations/flow-control.ts";
import {
  listOperationManifests,
  serviceAccountName,
  spaceRoleName,
  toImpersonatorRole,
} from "../platform/operations/permissions.ts";
import { OPERATIONS, type Operation } from "../platform/operations/operations.ts";

export interface ChartFile {
  /** Below `files/` of the chart. */
  path: string;
  objects: KubeObject[];
}

/** Backends that use the processes of one machine: no cluster runs them. */
const MACHINE_OPERATIONS: readonly string[] = ["host-builder", "process-runner", "local-router"];

/** Files of the chart, one of each operation's roles among them. */
export function listChartFiles(): ChartFile[] {
  const manifests = listManifests()
    .filter(({ file }) => file !== "settings/backend-classes.yaml")
    .map(({ file, objects }) => ({ path: file, objects: objects.filter(isForChart) }));
  return [
    ...manifests,
    { path: "rbac/impersonator.yaml", objects: [toImpersonatorRole()] },
    { path: "spoke/hub.yaml", objects: hubAccountObjects() },
    { path: "spoke/policies.yaml", objects: listSpokePolicies() },
    { path: "flow-control/flow-control.yaml", objects: listFlowControl() },
    ...(Object.keys(OPERATIONS) as Operation[])
      .filter((operation) => !MACHINE_OPERATIONS.includes(operation))
      .map((operation) => ({ path: `operations/${operation}.yaml`, objects: listRoles(operation) })),
  ];
}

/** The chart binds roles to the ServiceAccounts of its Deployments, each of which has several operations. */
function isForChart({ kind, metadata }: KubeObject): boolean {
  return kind !== "Namespace" && metadata.name !== PLATFORM_CLUSTER_ROLE;
}

function listRoles(operation: Operation): KubeObject[] {
  const name = serviceAccountName(operation);
  return listOperationManifests().filter(
    ({ kind, metadata }) =>
      [name, spaceRoleName(operation)].includes(metadata.name) && ["ClusterRole", "Role"].includes(kind),
  );
}
