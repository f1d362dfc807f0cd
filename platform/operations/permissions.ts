// The platform's permissions in a cluster: a role and a ServiceAccount for each operation, generated from the permissions that the code declares.
import { ClusterRole, Event, Lease, Namespace, Secret } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { LIST_WATCH_VERBS, permissionsIn, permissionsOf } from "../../kube/controller/permissions.ts";
import { toResourceRules, type Permission, type ResourceRule } from "../../kube/rbac/resource-rules.ts";
import { IMPERSONATOR_ROLE } from "../../api/identity/token-issuer.ts";
import { API_PERMISSIONS } from "../../api/access/platform-permissions.ts";
import { INTERNAL_DNS_KINDS } from "../../backends/routers/internal-dns/internal-dns.ts";
import { ROUTE_SERVICE_KEYS } from "../../backends/routers/local/route-service-key.ts";
import { policyControllers, spokeControllers } from "../../controllers/controllers.ts";
import { listControllerPermissions } from "../../controllers/shared/permissions.ts";
import { POLICY_PERMISSIONS, POLICY_SYSTEM_PERMISSIONS } from "./policies.ts";
import { LOGIN_KEYS } from "../../api/identity/login-keys.ts";
import { JOB_KEY } from "../../api/jobs/job-key.ts";
import { FACTS_PERMISSIONS } from "../../controllers/spoke/facts.ts";
import { ENV_KEY } from "../../controllers/shared/env-snapshot.ts";
import { Claim } from "../../crds/claim/claim.ts";
import { LABELS } from "../../crds/labels.ts";
import { BROKER_CREDENTIALS_SECRET, SPACE_CREDENTIALS_SECRETS } from "../../crds/service-broker/credentials.ts";
import { AGENT_TOKEN_SECRET } from "../../crds/hub-account.ts";
import { SSH_KEY } from "../../crds/ssh-key.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { REGISTRY_SECRET } from "../../crds/registry-secret.ts";
import { Replica } from "../../crds/replica/replica.ts";
import { AUDIT_WRITER_PERMISSIONS } from "../../telemetry/audit/audit-writer.ts";
import { INSTANCE_PROBLEM_PERMISSIONS } from "../../telemetry/pods/instance-problems.ts";
import { POD_LOG_PERMISSIONS } from "../../telemetry/pods/pod-logs.ts";
import { ROUTE_SERVICE_PERMISSIONS, ROUTE_SERVICE_SYSTEM_PERMISSIONS } from "../route-services/permissions.ts";
import { SSH_PERMISSIONS, SSH_SPACE_PERMISSIONS } from "../ssh/permissions.ts";
import { HUB_LOGS_PERMISSIONS } from "../telemetry/hub-logs.ts";
import { LOG_DRAIN_PERMISSIONS } from "../telemetry/log-drains.ts";
import { REPLICA_LOG_PERMISSIONS } from "../telemetry/replica-logs.ts";
import { listBackendOperations, listBackendControllers, hasTelemetry, listTranslatorControllers } from "./backends.ts";
import { BLOB_REFERRERS } from "./blob-removal.ts";
import { IMAGE_REFERRERS } from "./image-removal.ts";
import { listBuilderControllers } from "./builders.ts";
import { HUB_SECRET } from "./hub-id.ts";
import { INSTALLED_KINDS } from "./installed-objects.ts";
import { OPERATION_BINDING_PERMISSIONS } from "./operation-bindings.ts";
import { OPERATIONS, type Operation } from "./operations.ts";
import { SERVICE_USAGE_RECORDER_KINDS, SERVICE_USAGE_RECORDER_PERMISSIONS } from "./service-usage-recorder.ts";
import { USAGE_RECORDER_KINDS, USAGE_RECORDER_PERMISSIONS } from "./usage-recorder.ts";
import { TELEMETRY_SECRET } from "../telemetry/telemetry-secret.ts";
import { JUDGE_PERMISSIONS } from "../policies/judge-permissions.ts";
import { WATCH_AUDIT_KINDS } from "./watch-audit.ts";
import { WEBHOOK_PERMISSIONS, WEBHOOK_SYSTEM_PERMISSIONS } from "./webhook.ts";

const RBAC = "rbac.authorization.k8s.io";
const SYSTEM_METADATA = { namespace: SYSTEM_NAMESPACE };

/** Permissions of an operation: in all namespaces, only in the platform's own, and only in the namespaces of spaces. */
export interface OperationPermissions {
  cluster: ResourceRule[];
  system: ResourceRule[];
  /** On Secrets, and those of the SSH proxy on pods. The Space controller binds them in each space's namespace (docs/adr/0017). */
  spaces: ResourceRule[];
}

/** Secrets in the system namespace that an operation creates and reads by name. */
const SYSTEM_SECRETS: Partial<Record<Operation, readonly string[]>> = {
  api: [JOB_KEY.secretName, LOGIN_KEYS.secretName, SSH_KEY.secretName],
  controllers: [
    HUB_SECRET,
    ENV_KEY.secretName,
    REGISTRY_SECRET,
    BROKER_CREDENTIALS_SECRET,
    ...SPACE_CREDENTIALS_SECRETS,
  ],
  agent: [AGENT_TOKEN_SECRET],
  "local-router": [ROUTE_SERVICE_KEYS.secretName],
  "route-service": [ROUTE_SERVICE_KEYS.secretName],
  "ssh-proxy": [SSH_KEY.secretName],
};

/** Other permissions in the system namespace. */
const SYSTEM_PERMISSIONS: Partial<Record<Operation, readonly Permission[]>> = {
  policies: POLICY_SYSTEM_PERMISSIONS,
  // Admission policies know the platform's identities by it.
  agent: [
    { resource: Claim, verbs: ["create"] },
    { resource: Secret, verbs: ["patch"], names: [AGENT_TOKEN_SECRET] },
    ...FACTS_PERMISSIONS,
    ...spokeControllers().flatMap((controller) => permissionsIn(SYSTEM_NAMESPACE, controller)),
  ],
  webhook: WEBHOOK_SYSTEM_PERMISSIONS,
  "route-service": ROUTE_SERVICE_SYSTEM_PERMISSIONS,
};

/** For those that keep credentials of service brokers, and take them away. */
const BROKER_CREDENTIALS_PERMISSIONS: readonly Permission[] = [
  { resource: Secret, verbs: ["patch"], names: [BROKER_CREDENTIALS_SECRET, ...SPACE_CREDENTIALS_SECRETS] },
];

/** Those of them that an operator rotates: a current value that is missing is added. */
const ROTATED_SECRETS: Partial<Record<Operation, string>> = {
  api: LOGIN_KEYS.secretName,
  "local-router": ROUTE_SERVICE_KEYS.secretName,
  "route-service": ROUTE_SERVICE_KEYS.secretName,
};

/** For every process: membership, leader election, and its Replica object with its Events. */
const MEMBER_PERMISSIONS: readonly Permission[] = [
  { resource: Lease, verbs: [...LIST_WATCH_VERBS, "create", "update", "patch", "delete"] },
  { resource: Replica, verbs: ["get", "create", "patch"] },
  { resource: Replica, subresource: "status", verbs: ["patch"] },
  { resource: Event, verbs: ["get", "create", "patch"] },
];

/** For readers of logs and stats: the Secret behind the tokens of the other processes. The first process creates it. */
const TELEMETRY_PERMISSIONS: readonly Permission[] = [
  { resource: Secret, verbs: LIST_WATCH_VERBS, names: [TELEMETRY_SECRET] },
  { resource: Secret, verbs: ["create"] },
];

const READERS_OF_TELEMETRY: ReadonlySet<Operation> = new Set(["api", "controllers", "hub-logs", "log-drains"]);

export function toOperationPermissions(operation: Operation): OperationPermissions {
  const usesTelemetry = READERS_OF_TELEMETRY.has(operation) || hasTelemetry([operation]);
  const declared = listDeclaredPermissions(operation);
  const systemSecrets = SYSTEM_SECRETS[operation];
  const rotated = ROTATED_SECRETS[operation];
  return {
    cluster: toResourceRules([
      ...declared.filter((permission) => !isOnSecrets(permission)),
      // Granting a role needs the right to bind it.
      ...(operation === "controllers"
        ? [{ resource: ClusterRole, verbs: ["bind"], names: listSpaceRoleNames() } as const]
        : []),
    ]),
    spaces: toResourceRules(listSpacePermissions(operation)),
    system: toResourceRules([
      ...MEMBER_PERMISSIONS,
      ...(usesTelemetry ? TELEMETRY_PERMISSIONS : []),
      ...(SYSTEM_PERMISSIONS[operation] ?? []),
      ...(["cnb-builder", "kpack-builder", "agent"].includes(operation)
        ? [{ resource: Secret, verbs: ["get"], names: [REGISTRY_SECRET] } as const]
        : []),
      ...(operation === "controllers" ? listControllerPermissions().system : []),
      ...(systemSecrets
        ? ([
            { resource: Secret, verbs: ["get"], names: systemSecrets },
            { resource: Secret, verbs: ["create"] },
          ] as const)
        : []),
      ...(rotated ? [{ resource: Secret, verbs: ["update"], names: [rotated] } as const] : []),
      ...(["api", "controllers"].includes(operation) ? BROKER_CREDENTIALS_PERMISSIONS : []),
    ]),
  };
}

/** The code's declarations name no namespace: Secrets are those of spaces, everything else is anywhere. */
function isOnSecrets({ resource }: Permission): boolean {
  return resource.group === Secret.group && resource.plural === Secret.plural;
}

function listSpacePermissions(operation: Operation): readonly Permission[] {
  return operation === "ssh-proxy" ? SSH_SPACE_PERMISSIONS : listDeclaredPermissions(operation).filter(isOnSecrets);
}

/** The ClusterRole of an operation's permissions in spaces: on Secrets, and the SSH proxy's on pods. */
export function spaceRoleName(operation: Operation): string {
  return `${serviceAccountName(operation)}-${operation === "ssh-proxy" ? "exec" : "secrets"}`;
}

/** Both usage logs. */
const RECORDED_KINDS = [...USAGE_RECORDER_KINDS, ...SERVICE_USAGE_RECORDER_KINDS];
const RECORDER_PERMISSIONS = [...USAGE_RECORDER_PERMISSIONS, ...SERVICE_USAGE_RECORDER_PERMISSIONS];

function listSpaceRoleNames(): string[] {
  return (Object.keys(OPERATIONS) as Operation[])
    .filter((operation) => listSpacePermissions(operation).length > 0)
    .map(spaceRoleName);
}

function toWatchPermission(on: Permission["resource"]): Permission {
  return { resource: on, verbs: LIST_WATCH_VERBS };
}

/** Operations that declare theirs in one list. */
const PERMISSIONS_OF: Partial<Record<Operation, readonly Permission[]>> = {
  "log-drains": LOG_DRAIN_PERMISSIONS,
  "hub-logs": HUB_LOGS_PERMISSIONS,
  "ssh-proxy": SSH_PERMISSIONS,
  "route-service": ROUTE_SERVICE_PERMISSIONS,
  "internal-dns": INTERNAL_DNS_KINDS.map(toWatchPermission),
};

function listDeclaredPermissions(operation: Operation): Permission[] {
  const backends = listBackendOperations([operation]).flatMap(({ singletonKinds = [], watchedKinds = [] }) =>
    [...singletonKinds, ...watchedKinds].map(toWatchPermission),
  );
  return [
    // A kind that the operation may not watch cluster-wide is watched in each namespace that allows it.
    toWatchPermission(Namespace),
    ...(operation === "api" ? API_PERMISSIONS : []),
    ...(operation === "controllers"
      ? [
          ...listControllerPermissions().cluster,
          ...[...BLOB_REFERRERS, ...IMAGE_REFERRERS, ...RECORDED_KINDS, ...WATCH_AUDIT_KINDS, ...INSTALLED_KINDS].map(
            toWatchPermission,
          ),
          ...JUDGE_PERMISSIONS,
          ...OPERATION_BINDING_PERMISSIONS,
          ...RECORDER_PERMISSIONS,
          ...AUDIT_WRITER_PERMISSIONS,
        ]
      : []),
    ...(operation === "policies" ? [...policyControllers.flatMap(permissionsOf), ...POLICY_PERMISSIONS] : []),
    ...(operation === "agent" ? spokeControllers().flatMap(permissionsOf) : []),
    ...(operation === "webhook" ? WEBHOOK_PERMISSIONS : []),
    ...(PERMISSIONS_OF[operation] ?? []),
    ...(operation === "logs"
      ? [...POD_LOG_PERMISSIONS, ...INSTANCE_PROBLEM_PERMISSIONS, ...REPLICA_LOG_PERMISSIONS]
      : []),
    ...[
      ...listTranslatorControllers([operation]),
      ...listBuilderControllers([operation]),
      ...listBackendControllers([operation]),
    ].flatMap(permissionsOf),
    ...backends,
  ];
}

/** Name of the role and of the ServiceAccount. */
export function serviceAccountName(operation: Operation): string {
  return `cupola-${operation}`;
}

/** For impersonating the users of a token issuer. The platform never binds it: RBAC has no name prefixes, so its holder can impersonate anyone. */
export function toImpersonatorRole(): KubeObject {
  return {
    apiVersion: `${RBAC}/v1`,
    kind: "ClusterRole",
    metadata: { name: IMPERSONATOR_ROLE },
    rules: [{ apiGroups: [""], resources: ["users", "groups"], verbs: ["impersonate"] }],
  };
}

/** ServiceAccount, roles and bindings of every operation. A process with several operations has an account with all their roles. */
export function listOperationManifests(): KubeObject[] {
  return (Object.keys(OPERATIONS) as Operation[]).flatMap(toOperationManifests);
}

function toOperationManifests(operation: Operation): KubeObject[] {
  const name = serviceAccountName(operation);
  const { cluster, system, spaces } = toOperationPermissions(operation);
  const subjects = [{ kind: "ServiceAccount", ...SYSTEM_METADATA, name }];
  const ref = (kind: string): object => ({ apiGroup: RBAC, kind, name });
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { ...SYSTEM_METADATA, name } },
    { apiVersion: `${RBAC}/v1`, kind: "ClusterRole", metadata: { name }, rules: cluster },
    {
      apiVersion: `${RBAC}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name },
      roleRef: ref("ClusterRole"),
      subjects,
    },
    { apiVersion: `${RBAC}/v1`, kind: "Role", metadata: { ...SYSTEM_METADATA, name }, rules: system },
    {
      apiVersion: `${RBAC}/v1`,
      kind: "RoleBinding",
      metadata: {
        ...SYSTEM_METADATA,
        name,
        ...(spaces.length > 0 && { labels: { [LABELS.spaceRole]: spaceRoleName(operation) } }),
      },
      roleRef: ref("Role"),
      subjects,
    },
    ...(spaces.length > 0
      ? [{ apiVersion: `${RBAC}/v1`, kind: "ClusterRole", metadata: { name: spaceRoleName(operation) }, rules: spaces }]
      : []),
  ];
}
