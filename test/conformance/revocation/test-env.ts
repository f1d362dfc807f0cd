// A platform that an operator has let into the cluster namespace by namespace, and what the operator grants and takes.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { DEFINITIONS } from "../../../crds/definitions.ts";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { Domain } from "../../../crds/domain/domain.ts";
import { GROUP, SYSTEM_NAMESPACE, WORKLOADS_GROUP } from "../../../crds/groups.ts";
import { Replica } from "../../../crds/replica/replica.ts";
import { systemObject } from "../../../crds/settings-object.ts";
import { ClusterRole, ClusterRoleBinding, RoleBinding } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { toCredentials } from "../../../kube/client/credentials.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import { LIST_WATCH_VERBS } from "../../../kube/controller/permissions.ts";
import { toResourceRules } from "../../../kube/rbac/resource-rules.ts";
import { applyObjects, installManifests } from "../../../platform/install.ts";
import { INSTALLED_KINDS } from "../../../platform/operations/installed-objects.ts";
import { startPlatform, type RunningPlatform } from "../../../platform/platform.ts";

export interface Endpoint {
  url: string;
  ca: string;
  adminToken: string;
  stop(): Promise<void>;
}

/** The bound in force here, seconds: the longest that a watch lives. */
export const BOUND_SECONDS = 2;

const RBAC = "rbac.authorization.k8s.io";
const ACCOUNT = `system:serviceaccount:${SYSTEM_NAMESPACE}:scoped`;
const subjects = [{ kind: "User", apiGroup: RBAC, name: ACCOUNT }];
const apply = { fieldManager: "operator", force: true };
const log = pino({ level: process.env["TEST_LOG"] ?? "silent" });

export interface ScopedTestEnv {
  admin: KubeClient;
  platform: RunningPlatform;
  grant(namespace: string): Promise<void>;
  revoke(namespace: string): Promise<void>;
  /** Parked watches of a namespace by the replica's object: kinds, in order. */
  parkedIn(namespace: string): Promise<string[]>;
  /** A request to the CF API as the administrator. */
  api(path: string): Promise<{ code: number; retryAfter: string | null; body: { resources?: { name: string }[] } }>;
  stop(): Promise<void>;
}

export async function startScopedTestEnv(endpoint: Endpoint): Promise<ScopedTestEnv> {
  const { url, ca, adminToken } = endpoint;
  const admin = createClient({ server: url, ca, auth: { kind: "token", token: adminToken }, fieldManager: "operator" });
  await installManifests(admin);
  await applyObjects(admin, fixtures());
  const grant = async (namespace: string): Promise<void> =>
    void (await admin.apply(
      RoleBinding,
      {
        metadata: { name: "platform", namespace },
        roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: "scoped-in" },
        subjects,
      },
      apply,
    ));
  await grantCluster(admin);
  await grant(SYSTEM_NAMESPACE);
  const home = mkdtempSync(join(tmpdir(), "cupola-revocation-"));
  const impersonated = toCredentials(
    {
      kind: "impersonate",
      user: ACCOUNT,
      groups: ["system:authenticated", "system:serviceaccounts", `system:serviceaccounts:${SYSTEM_NAMESPACE}`],
    },
    toCredentials({ kind: "token", token: adminToken }),
  );
  const platform = await startPlatform({
    access: { server: url, ca, auth: () => impersonated },
    operations: ["api", "controllers"],
    data: home,
    listen: { host: "127.0.0.1", port: 0 },
    log,
    watchTiming: {
      backoff: { minMs: 50, maxMs: 500, jitter: 0 },
      parked: { minMs: 100, maxMs: 300, jitter: 0 },
      watchSeconds: [1, BOUND_SECONDS],
      shortWatchMs: 200,
    },
  });
  return {
    admin,
    platform,
    grant,
    revoke: async (namespace) => void (await admin.delete(RoleBinding, { name: "platform", namespace })),
    async parkedIn(namespace) {
      const replicas = await admin.list(Replica, { namespace: SYSTEM_NAMESPACE });
      return replicas.items
        .flatMap(({ status }) => status?.parked ?? [])
        .flatMap((row) => (row.namespace === namespace ? [row.resource] : []));
    },
    async api(path) {
      const answer = await fetch(`${platform.url}${path}`, {
        headers: { authorization: `Bearer ${adminToken}` },
        signal: AbortSignal.timeout(10_000),
      });
      return {
        code: answer.status,
        retryAfter: answer.headers.get("retry-after"),
        body: (await answer.json()) as { resources?: { name: string }[] },
      };
    },
    async stop() {
      await platform.stop({ instances: "end" });
      await admin.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** Cluster-scoped kinds everywhere; in a granted namespace, all. */
async function grantCluster(admin: KubeClient): Promise<void> {
  const own = DEFINITIONS.filter(({ namespaced }) => !namespaced).flatMap(({ plural }) => [
    plural,
    `${plural}/status`,
    `${plural}/finalizers`,
  ]);
  const rules = [
    { apiGroups: [GROUP, WORKLOADS_GROUP], resources: own, verbs: ["*"] },
    { apiGroups: [""], resources: ["namespaces"], verbs: ["*"] },
    { apiGroups: [RBAC], resources: ["clusterroles", "clusterrolebindings"], verbs: ["*"] },
    ...toResourceRules(INSTALLED_KINDS.map((resource) => ({ resource, verbs: LIST_WATCH_VERBS }))),
    {
      apiGroups: ["authentication.k8s.io", "authorization.k8s.io"],
      resources: ["tokenreviews", "subjectaccessreviews"],
      verbs: ["create"],
    },
  ];
  await admin.apply(ClusterRole, { metadata: { name: "scoped-cluster" }, rules }, apply);
  await admin.apply(
    ClusterRole,
    { metadata: { name: "scoped-in" }, rules: [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }] },
    apply,
  );
  await admin.apply(
    ClusterRoleBinding,
    {
      metadata: { name: "scoped-cluster" },
      roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: "scoped-cluster" },
      subjects,
    },
    apply,
  );
}

function fixtures(): KubeObject[] {
  return [
    systemObject(BackendClass, "builder", { role: "builder", default: true }),
    systemObject(BackendClass, "runner", { role: "runner", default: true }),
    systemObject(BackendClass, "router", { role: "router", default: true }),
    systemObject(Domain, "apps.example", { name: "apps.example" }),
  ];
}
