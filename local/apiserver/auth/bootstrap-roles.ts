// The ClusterRoles and bindings that Kubernetes gives every cluster. Missing ones are written.
import type { KubeObject } from "../../../kube/api/object.ts";
import { missingRules } from "../../../kube/rbac/covers.ts";
import type { PolicyRule } from "../../../kube/rbac/types.ts";
import type { ResourceReader, SystemWriter } from "../types.ts";
import { rbacGroup } from "./rbac-authorizer.ts";
import { authenticated, masters, unauthenticated } from "./users.ts";

const read = ["get", "list", "watch"];
const write = ["create", "update", "patch", "delete", "deletecollection"];

const rule = (verbs: string[], group: string, ...resources: string[]): PolicyRule => ({
  verbs,
  apiGroups: [group],
  resources,
});
const urls = (...paths: string[]): PolicyRule => ({ verbs: ["get"], nonResourceURLs: paths.sort() });

const viewRules: PolicyRule[] = [
  rule(
    read,
    "",
    "configmaps",
    "endpoints",
    "persistentvolumeclaims",
    "persistentvolumeclaims/status",
    "pods",
    "replicationcontrollers",
    "replicationcontrollers/scale",
    "serviceaccounts",
    "services",
    "services/status",
  ),
  rule(
    read,
    "",
    "bindings",
    "events",
    "limitranges",
    "namespaces/status",
    "pods/log",
    "pods/status",
    "replicationcontrollers/status",
    "resourcequotas",
    "resourcequotas/status",
  ),
  rule(read, "", "namespaces"),
  rule(read, "discovery.k8s.io", "endpointslices"),
  rule(
    read,
    "apps",
    "controllerrevisions",
    "daemonsets",
    "daemonsets/status",
    "deployments",
    "deployments/scale",
    "deployments/status",
    "replicasets",
    "replicasets/scale",
    "replicasets/status",
    "statefulsets",
    "statefulsets/scale",
    "statefulsets/status",
  ),
  rule(read, "autoscaling", "horizontalpodautoscalers", "horizontalpodautoscalers/status"),
  rule(read, "batch", "cronjobs", "cronjobs/status", "jobs", "jobs/status"),
  rule(read, "policy", "poddisruptionbudgets", "poddisruptionbudgets/status"),
  rule(read, "networking.k8s.io", "ingresses", "ingresses/status", "networkpolicies"),
];

const editRules: PolicyRule[] = [
  rule(read, "", "pods/attach", "pods/exec", "pods/portforward", "pods/proxy", "secrets", "services/proxy"),
  rule(["impersonate"], "", "serviceaccounts"),
  rule(write, "", "pods", "pods/attach", "pods/exec", "pods/portforward", "pods/proxy"),
  rule(["create"], "", "pods/eviction"),
  rule(
    write,
    "",
    "configmaps",
    "events",
    "persistentvolumeclaims",
    "replicationcontrollers",
    "replicationcontrollers/scale",
    "secrets",
    "serviceaccounts",
    "services",
    "services/proxy",
  ),
  rule(["create"], "", "serviceaccounts/token"),
  rule(
    write,
    "apps",
    "daemonsets",
    "deployments",
    "deployments/rollback",
    "deployments/scale",
    "replicasets",
    "replicasets/scale",
    "statefulsets",
    "statefulsets/scale",
  ),
  rule(write, "autoscaling", "horizontalpodautoscalers"),
  rule(write, "batch", "cronjobs", "jobs"),
  rule(write, "policy", "poddisruptionbudgets"),
  rule(write, "networking.k8s.io", "ingresses", "networkpolicies"),
  rule([...read, ...write], "coordination.k8s.io", "leases"),
];

const adminRules: PolicyRule[] = [
  rule(["create"], "authorization.k8s.io", "localsubjectaccessreviews"),
  rule([...read, ...write], rbacGroup, "rolebindings", "roles"),
];

const health = ["/healthz", "/livez", "/readyz"];
const version = ["/version", "/version/"];

interface Bootstrap {
  name: string;
  rules?: PolicyRule[];
  labels?: Record<string, string>;
  /** Takes in the rules of the ClusterRoles that carry this label. */
  aggregates?: string;
}

const aggregateTo = (role: string) => `${rbacGroup}/aggregate-to-${role}`;

const roles: Bootstrap[] = [
  { name: "cluster-admin", rules: [rule(["*"], "*", "*"), { verbs: ["*"], nonResourceURLs: ["*"] }] },
  {
    name: "system:discovery",
    rules: [urls(...health, ...version, "/openapi", "/openapi/*", "/api", "/api/*", "/apis", "/apis/*")],
  },
  {
    name: "system:monitoring",
    rules: [urls("/metrics", "/metrics/slis", ...health, ...health.map((path) => `${path}/*`))],
  },
  {
    name: "system:basic-user",
    rules: [
      rule(["create"], "authorization.k8s.io", "selfsubjectaccessreviews", "selfsubjectrulesreviews"),
      rule(["create"], "authentication.k8s.io", "selfsubjectreviews"),
    ],
  },
  { name: "system:public-info-viewer", rules: [urls(...health, ...version)] },
  {
    name: "system:auth-delegator",
    rules: [
      rule(["create"], "authentication.k8s.io", "tokenreviews"),
      rule(["create"], "authorization.k8s.io", "subjectaccessreviews"),
    ],
  },
  { name: "admin", aggregates: aggregateTo("admin") },
  { name: "edit", labels: { [aggregateTo("admin")]: "true" }, aggregates: aggregateTo("edit") },
  { name: "view", labels: { [aggregateTo("edit")]: "true" }, aggregates: aggregateTo("view") },
  { name: "system:aggregate-to-admin", labels: { [aggregateTo("admin")]: "true" }, rules: adminRules },
  { name: "system:aggregate-to-edit", labels: { [aggregateTo("edit")]: "true" }, rules: editRules },
  { name: "system:aggregate-to-view", labels: { [aggregateTo("view")]: "true" }, rules: viewRules },
];

const bindings: Record<string, string[]> = {
  "cluster-admin": [masters],
  "system:discovery": [authenticated],
  "system:basic-user": [authenticated],
  "system:public-info-viewer": [authenticated, unauthenticated],
  "system:monitoring": ["system:monitoring"],
};

const autoupdate = "rbac.authorization.kubernetes.io/autoupdate";
const metadata = (name: string, labels: Record<string, string> = {}) => ({
  name,
  labels: { "kubernetes.io/bootstrapping": "rbac-defaults", ...labels },
  annotations: { [autoupdate]: "true" },
});

function roleObject({ name, rules, labels, aggregates }: Bootstrap): KubeObject {
  const aggregationRule = aggregates && { clusterRoleSelectors: [{ matchLabels: { [aggregates]: "true" } }] };
  return {
    apiVersion: `${rbacGroup}/v1`,
    kind: "ClusterRole",
    metadata: metadata(name, labels),
    ...(aggregationRule && { aggregationRule }),
    rules: rules ?? [],
  };
}

function bindingObject(name: string, groups: string[]): KubeObject {
  return {
    apiVersion: `${rbacGroup}/v1`,
    kind: "ClusterRoleBinding",
    metadata: metadata(name),
    roleRef: { apiGroup: rbacGroup, kind: "ClusterRole", name },
    subjects: groups.map((group) => ({ apiGroup: rbacGroup, kind: "Group", name: group })),
  };
}

const gvr = (resource: string) => ({ group: rbacGroup, version: "v1", resource });

/** Writes missing roles and bindings, and missing rules of a role unless its annotation forbids that. */
export async function bootstrapRoles(reader: ResourceReader, writer: SystemWriter): Promise<void> {
  for (const role of roles) await ensureRole(role, reader, writer);
  for (const [name, groups] of Object.entries(bindings)) {
    if (!reader.find(rbacGroup, "clusterrolebindings", "", name))
      await writer.create(gvr("clusterrolebindings"), bindingObject(name, groups));
  }
}

async function ensureRole(role: Bootstrap, reader: ResourceReader, writer: SystemWriter): Promise<void> {
  const existing = reader.find(rbacGroup, "clusterroles", "", role.name);
  if (!existing) {
    await writer.create(gvr("clusterroles"), roleObject(role));
    return;
  }
  if (role.aggregates || existing.metadata.annotations?.[autoupdate] === "false") return;
  const current = (existing["rules"] as PolicyRule[] | null | undefined) ?? [];
  const missing = missingRules(current, role.rules ?? []);
  if (missing.length > 0) await writer.update(gvr("clusterroles"), { ...existing, rules: [...current, ...missing] });
}
