// The platform's rights in a cluster, one role and one ServiceAccount for each operation, from what the code declares that it reads and writes.
import { Lease, Namespace, Secret } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { FOLLOW, rightsOf, toRules, type Right, type Rule } from "../../kube/controller/permissions.ts";
import { IMPERSONATOR_ROLE } from "../../api/identity/token-issuer.ts";
import { API_RIGHTS } from "../../api/access/platform-permissions.ts";
import { controllersRights } from "../../controllers/shared/permissions.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { Replica } from "../../crds/replica/replica.ts";
import { POD_LOG_RIGHTS } from "../../telemetry/pods/pod-logs.ts";
import { backendsOf, declaredBackends, hasTelemetry, translators } from "./backends.ts";
import { blobKinds } from "./blob-removal.ts";
import { OPERATIONS, type Operation } from "./operations.ts";
import { TELEMETRY_SECRET } from "../telemetry/telemetry.ts";
import { WEBHOOK_RIGHTS, WEBHOOK_SYSTEM_RIGHTS } from "./name-webhook.ts";

const RBAC = "rbac.authorization.k8s.io";
const SYSTEM = { namespace: SYSTEM_NAMESPACE };

/** What an operation needs in every namespace, and what in the platform's own only. */
export interface OperationRights {
  cluster: Rule[];
  system: Rule[];
}

/** What every process does: it is a member, it may lead, and it shows itself. */
const MEMBER: readonly Right[] = [
  { on: Lease, verbs: [...FOLLOW, "create", "update", "patch", "delete"] },
  { on: Replica, verbs: ["get", "create", "patch"] },
  { on: Replica, subresource: "status", verbs: ["patch"] },
];

/** Where logs and stats are read: the Secret that opens the other processes, made by whoever comes first. */
const TELEMETRY: readonly Right[] = [
  { on: Secret, verbs: FOLLOW, names: [TELEMETRY_SECRET] },
  { on: Secret, verbs: ["create"] },
];

export function rightsOfOperation(operation: Operation): OperationRights {
  const usesTelemetry = operation === "api" || hasTelemetry([operation]);
  return { cluster: toRules(clusterRights(operation)), system: toRules([...MEMBER, ...(usesTelemetry ? TELEMETRY : []), ...(operation === "webhook" ? WEBHOOK_SYSTEM_RIGHTS : [])]) };
}

function clusterRights(operation: Operation): Right[] {
  const follow = (on: Right["on"]): Right => ({ on, verbs: FOLLOW });
  const backends = backendsOf([operation]).flatMap(({ elected = [], follows = [] }) => [...elected, ...follows].map(follow));
  return [
    // A kind that is closed to it as a whole is watched in each namespace where it is not.
    follow(Namespace),
    ...(operation === "api" ? API_RIGHTS : []),
    ...(operation === "controllers" ? [...controllersRights(), ...blobKinds.map(follow)] : []),
    ...(operation === "webhook" ? WEBHOOK_RIGHTS : []),
    ...(operation === "logs" ? POD_LOG_RIGHTS : []),
    ...[...translators([operation]), ...declaredBackends([operation])].flatMap(rightsOf),
    ...backends,
  ];
}

/** Name of the role and of the ServiceAccount. */
export function accountOf(operation: Operation): string {
  return `cupola-${operation}`;
}

/** To speak for the users of a token issuer. Bound to nobody: RBAC knows no prefixes of names, so whoever has it can be anyone. */
export function impersonatorRole(): KubeObject {
  return {
    apiVersion: `${RBAC}/v1`,
    kind: "ClusterRole",
    metadata: { name: IMPERSONATOR_ROLE },
    rules: [{ apiGroups: [""], resources: ["users", "groups"], verbs: ["impersonate"] }],
  };
}

/** ServiceAccount, roles and bindings of every operation. A process with several operations has an account with all their roles. */
export function operationManifests(): KubeObject[] {
  return (Object.keys(OPERATIONS) as Operation[]).flatMap((operation) => {
    const name = accountOf(operation);
    const { cluster, system } = rightsOfOperation(operation);
    const subjects = [{ kind: "ServiceAccount", ...SYSTEM, name }];
    const ref = (kind: string): object => ({ apiGroup: RBAC, kind, name });
    return [
      { apiVersion: "v1", kind: "ServiceAccount", metadata: { ...SYSTEM, name } },
      { apiVersion: `${RBAC}/v1`, kind: "ClusterRole", metadata: { name }, rules: cluster },
      { apiVersion: `${RBAC}/v1`, kind: "ClusterRoleBinding", metadata: { name }, roleRef: ref("ClusterRole"), subjects },
      { apiVersion: `${RBAC}/v1`, kind: "Role", metadata: { ...SYSTEM, name }, rules: system },
      { apiVersion: `${RBAC}/v1`, kind: "RoleBinding", metadata: { ...SYSTEM, name }, roleRef: ref("Role"), subjects },
    ];
  });
}
