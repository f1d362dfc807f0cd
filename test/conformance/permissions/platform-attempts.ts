// Attempts with a token of the platform beyond the platform's work, and the platform's own work beside it. All are dry runs.
import type { Answer, Api, Json } from "../kubernetes/api.ts";
import { create, named, patch, remove, type Attempt } from "./attempt.ts";
import { MANY_LABELS } from "./many-labels.ts";
import { listKindWrites } from "./policy-attempts.ts";

/** The namespaces of the attempts. `theirs` has a workload of another team, and `lent` consents to adoption. */
export interface Places {
  org: string;
  space: string;
  theirs: string;
  lent: string;
}

const RBAC = "rbac.authorization.k8s.io";
const NAMESPACES = "/api/v1/namespaces";
const ROLES = `/apis/${RBAC}/v1`;

/** The kinds that the platform writes in the namespaces of spaces, each with a smallest object. */
const WORKLOADS: readonly { path: string; apiVersion: string; kind: string; spec: Json }[] = [
  { path: "/apis/apps/v1", apiVersion: "apps/v1", kind: "Deployment", spec: template("Always") },
  {
    path: "/apis/apps/v1",
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    spec: { ...template("Always"), serviceName: "x" },
  },
  {
    path: "/apis/batch/v1",
    apiVersion: "batch/v1",
    kind: "Job",
    spec: { template: { spec: podSpec({ restartPolicy: "Never" }) } },
  },
  { path: "/api/v1", apiVersion: "v1", kind: "Pod", spec: podSpec() },
  { path: "/api/v1", apiVersion: "v1", kind: "Service", spec: { ports: [{ port: 80 }], selector: { app: "x" } } },
  {
    path: "/apis/networking.k8s.io/v1",
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    spec: { defaultBackend: { service: { name: "x", port: { number: 80 } } } },
  },
  {
    path: "/apis/networking.k8s.io/v1",
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    spec: { podSelector: {} },
  },
  {
    path: "/apis/policy/v1",
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    spec: { minAvailable: 1, selector: { matchLabels: { app: "x" } } },
  },
];

function template(restartPolicy: string): Json {
  const labels = { app: "x" };
  return { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: podSpec({ restartPolicy }) } };
}

/** As the platform's own pods are, but for `change` of the pod and `inContainer`. */
export function podSpec(change: Json = {}, inContainer: Json = {}): Json {
  return {
    automountServiceAccountToken: false,
    securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
    containers: [
      {
        name: "main",
        image: "busybox",
        ...inContainer,
        securityContext: {
          allowPrivilegeEscalation: false,
          capabilities: { drop: ["ALL"] },
          ...inContainer.securityContext,
        },
      },
    ],
    ...change,
  };
}

const plural = (kind: string): string =>
  (kind.endsWith("y") ? `${kind.slice(0, -1)}ies` : kind.endsWith("s") ? `${kind}es` : `${kind}s`).toLowerCase();

function workloads(namespace: string, what: string): Attempt[] {
  return WORKLOADS.map(({ path, apiVersion, kind, spec }) =>
    create(`${what}: a ${kind} in ${namespace}`, `${path}/namespaces/${namespace}/${plural(kind)}`, {
      apiVersion,
      kind,
      metadata: { name: "tried" },
      spec,
    }),
  );
}

function pod(what: string, namespace: string, spec: Json): Attempt {
  return create(what, `${NAMESPACES}/${namespace}/pods`, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "tried" },
    spec,
  });
}

function deployment(what: string, namespace: string, spec: Json): Attempt {
  const labels = { app: "x" };
  return create(what, `/apis/apps/v1/namespaces/${namespace}/deployments`, {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "tried" },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  });
}

function role(namespace: string | undefined, name: string, rules: Json[], metadata: Json = {}): Json {
  const kind = namespace ? "Role" : "ClusterRole";
  return { apiVersion: `${RBAC}/v1`, kind, metadata: { name, ...metadata }, rules };
}

function bind(namespace: string | undefined, name: string, roleRef: { kind: string; name: string }): Json {
  return {
    apiVersion: `${RBAC}/v1`,
    kind: namespace ? "RoleBinding" : "ClusterRoleBinding",
    metadata: { name },
    roleRef: { apiGroup: RBAC, ...roleRef },
    subjects: [{ kind: "User", apiGroup: RBAC, name: "mallory" }],
  };
}

const clusterRole = (name: string): { kind: string; name: string } => ({ kind: "ClusterRole", name });
const inNamespace = (namespace: string, kinds: string): string => `${ROLES}/namespaces/${namespace}/${kinds}`;
const OUR_RULE = { apiGroups: ["cupola.dev"], resources: ["orgs"], resourceNames: ["acme"], verbs: ["get", "update"] };
const NAMESPACE_RULE = { apiGroups: [""], resources: ["namespaces"], verbs: ["delete"] };
const GENERATED = "cupola-org-acme-read-0123456789";
/** A ClusterRole and a Role of the org's namespace have these names: a binding needs one. */
const BOUND_CLUSTER_ROLE = "cupola-org-acme-manage-0123456789";
const BOUND_ROLE = "cupola-space-dev-manage-0123456789";
const SECRETS_ROLE = clusterRole("cupola-controllers-secrets");

/** Everything here is refused to each identity of the platform. */
export function listAttacks(places: Places): Attempt[] {
  return [
    ...foreignWorkloads(places),
    ...privilegedWorkloads(places),
    ...namespaces(places),
    ...clusterRoles(),
    ...namespacedRoles(places),
    ...secrets(places),
    ...beyondRoles(places),
  ];
}

function foreignWorkloads({ theirs }: Places): Attempt[] {
  const theirSecret = { volumes: [{ name: "s", secret: { secretName: "theirs" } }] };
  const stolen = podSpec(theirSecret, { volumeMounts: [{ name: "s", mountPath: "/s" }] });
  return [
    ...["kube-system", "cupola-system", "default", theirs].flatMap((namespace) => workloads(namespace, "elsewhere")),
    pod("a Pod that mounts another team's Secret", theirs, stolen),
    patch("another team's Deployment", `/apis/apps/v1/namespaces/${theirs}/deployments/theirs`, {
      spec: { replicas: 0 },
    }),
    remove("another team's Deployment", `/apis/apps/v1/namespaces/${theirs}/deployments/theirs`),
    patch("another team's Service", `${NAMESPACES}/${theirs}/services/theirs`, { spec: { selector: { app: "mine" } } }),
    remove("another team's Service", `${NAMESPACES}/${theirs}/services/theirs`),
    patch("the label that makes it ours", `${NAMESPACES}/${theirs}/services/theirs`, {
      metadata: { labels: { "cupola.dev/managed-by": "router-service" } },
    }),
    create("a ServiceAccount elsewhere", `${NAMESPACES}/${theirs}/serviceaccounts`, {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "tried" },
    }),
    create("a Lease of another program", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases", {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: "tried" },
    }),
  ];
}

function privilegedWorkloads({ space }: Places): Attempt[] {
  const inPod: [string, Json][] = [
    ["hostPath", podSpec({ volumes: [{ name: "root", hostPath: { path: "/" } }] })],
    ["hostNetwork", podSpec({ hostNetwork: true })],
    ["hostPID", podSpec({ hostPID: true })],
    ["hostIPC", podSpec({ hostIPC: true })],
    ["a chosen node", podSpec({ nodeName: "control-plane" })],
    ["a system priority", podSpec({ priorityClassName: "system-node-critical" })],
    ["privileged", podSpec({}, { securityContext: { privileged: true, allowPrivilegeEscalation: true } })],
    ["escalation", podSpec({}, { securityContext: { allowPrivilegeEscalation: true } })],
    ["capabilities", podSpec({}, { securityContext: { capabilities: { drop: ["ALL"], add: ["SYS_ADMIN"] } } })],
    ["kept capabilities", podSpec({}, { securityContext: { capabilities: {} } })],
    ["no seccomp", podSpec({}, { securityContext: { seccompProfile: { type: "Unconfined" } } })],
    ["root", podSpec({ securityContext: { runAsUser: 0, seccompProfile: { type: "RuntimeDefault" } } })],
    ["root in a container", podSpec({}, { securityContext: { runAsNonRoot: false } })],
    ["a port of the node", podSpec({}, { ports: [{ containerPort: 80, hostPort: 80 }] })],
    ["a token of an account", podSpec({ automountServiceAccountToken: true })],
    [
      "a projected token",
      podSpec({ volumes: [{ name: "token", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } }] }),
    ],
    [
      "privileged before the start",
      podSpec({ initContainers: [{ name: "init", image: "x", securityContext: { privileged: true } }] }),
    ],
  ];
  const service = (spec: Json): Json => ({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "tried" },
    spec: { ports: [{ port: 80 }], selector: { app: "x" }, ...spec },
  });
  const services: [string, Json][] = [
    ["addresses of others", { externalIPs: ["10.0.0.1"] }],
    ["a port of each node", { type: "NodePort" }],
    ["an address of the cloud", { type: "LoadBalancer" }],
    ["the name of another host", { type: "ExternalName", externalName: "kubernetes.default.svc" }],
  ];
  const slice = (change: Json): Json => ({
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: "cupola-route-service-tried", labels: { "kubernetes.io/service-name": "cupola-route-service" } },
    addressType: "IPv4",
    ports: [{ name: "http", port: 8080 }],
    endpoints: [{ addresses: ["10.0.0.1"] }],
    ...change,
  });
  const slices: [string, Json][] = [
    ["of a Service of an app", { metadata: { name: "tried", labels: { "kubernetes.io/service-name": "shop" } } }],
    ["at a port of others", { ports: [{ name: "http", port: 443 }] }],
  ];
  return [
    ...slices.map(([what, change]) =>
      create(`an EndpointSlice ${what}`, `/apis/discovery.k8s.io/v1/namespaces/${space}/endpointslices`, slice(change)),
    ),
    ...inPod.flatMap(([what, spec]) => [
      pod(`a Pod with ${what}`, space, spec),
      deployment(`a Deployment with ${what}`, space, { ...spec, restartPolicy: "Always" }),
    ]),
    ...services.map(([what, spec]) =>
      create(`a Service with ${what}`, `${NAMESPACES}/${space}/services`, service(spec)),
    ),
  ];
}

function namespaces({ space, theirs, lent }: Places): Attempt[] {
  const at = (name: string): string => `${NAMESPACES}/${name}`;
  const labels = (change: Record<string, string | null>): Json => ({ metadata: { labels: change } });
  const ours = { "cupola.dev/namespace": "space", "cupola.dev/owner-uid": "mine" };
  const fresh = (labelled: Json): Json => ({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "tried", labels: labelled },
  });
  return [
    ...["default", "cupola-system", theirs, lent].map((name) => remove(`the namespace ${name}`, at(name))),
    ...["kube-system", "cupola-system", theirs].map((name) => patch(`${name} as its own`, at(name), labels(ours))),
    patch("consent in another's name", at(theirs), labels({ "cupola.dev/adoptable-by": "any" })),
    patch("consent and adoption at once", at(theirs), labels({ ...ours, "cupola.dev/adoptable-by": "any" })),
    patch("half an adoption", at(lent), labels({ "cupola.dev/namespace": "space" })),
    patch("an adoption without the consent", at(lent), labels({ ...ours, "cupola.dev/adoptable-by": null })),
    patch("another's Pod Security", at(lent), labels({ ...ours, "pod-security.kubernetes.io/enforce": "privileged" })),
    patch("its Pod Security", at(space), labels({ "pod-security.kubernetes.io/enforce": "privileged" })),
    patch("another owner of a space", at(space), labels({ "cupola.dev/owner-uid": "mine" })),
    patch("another team's label", at(theirs), labels({ team: "mallory" })),
    patch("a mirrored label of another team's namespace", at(theirs), labels({ "org.cupola.dev/tier": "gold" })),
    patch("a label of a space that mirrors none", at(space), labels({ "my-org.cupola.dev/tier": "gold" })),
    create("a namespace without an owner", NAMESPACES, fresh({})),
    create("a namespace that is only half its own", NAMESPACES, fresh({ "cupola.dev/namespace": "space" })),
    create(
      "a privileged namespace",
      NAMESPACES,
      fresh({ ...ours, "pod-security.kubernetes.io/enforce": "privileged" }),
    ),
  ];
}

function clusterRoles(): Attempt[] {
  const roles = `${ROLES}/clusterroles`;
  const bindings = `${ROLES}/clusterrolebindings`;
  return [
    create("a ClusterRole of another name", roles, role(undefined, "tried", [OUR_RULE])),
    create("a ClusterRole with other rights", roles, role(undefined, GENERATED, [OUR_RULE, NAMESPACE_RULE])),
    create(
      "a ClusterRole for all orgs",
      roles,
      role(undefined, GENERATED, [{ ...OUR_RULE, resourceNames: undefined }]),
    ),
    create("a ClusterRole that collects others", roles, {
      ...role(undefined, GENERATED, []),
      aggregationRule: { clusterRoleSelectors: [{}] },
    }),
    patch("cluster-admin", `${roles}/cluster-admin`, { metadata: { labels: { a: "b" } } }),
    patch("a role of the chart", `${roles}/cupola-org-manager`, { rules: [OUR_RULE] }),
    remove("view", `${roles}/view`),
    remove("a role of the chart", `${roles}/cupola-org-manager`),
    remove("a binding of Kubernetes", `${bindings}/system:basic-user`),
    remove("a binding of the chart", `${bindings}/cupola-cluster-reader`),
    patch("a binding of Kubernetes", `${bindings}/system:basic-user`, { metadata: { labels: { a: "b" } } }),
    ...["cluster-admin", "cupola-admin", "cupola-org-manager", "cupola-controllers-secrets", "view"].map((name) =>
      create(`a binding to ${name}`, bindings, bind(undefined, GENERATED, clusterRole(name))),
    ),
    create("a binding of another name", bindings, bind(undefined, "tried", clusterRole(BOUND_CLUSTER_ROLE))),
    create("org creation under another name", bindings, bind(undefined, GENERATED, clusterRole("cupola-org-creator"))),
  ];
}

function namespacedRoles({ org, space, theirs }: Places): Attempt[] {
  const generated = "cupola-space-dev-read-0123456789";
  const rule = { apiGroups: ["cupola.dev"], resources: ["spaces"], resourceNames: ["dev"], verbs: ["get"] };
  const pods = { apiGroups: [""], resources: ["pods"], verbs: ["get"] };
  return [
    ...["kube-system", "cupola-system", theirs].flatMap((namespace) => [
      create(`a Role in ${namespace}`, inNamespace(namespace, "roles"), role(namespace, generated, [rule])),
      ...["cupola-controllers-secrets", "cupola-space-org-manager", "cupola-org-manager", "cluster-admin"].map((name) =>
        create(
          `a RoleBinding to ${name} in ${namespace}`,
          inNamespace(namespace, "rolebindings"),
          bind(namespace, generated, clusterRole(name)),
        ),
      ),
    ]),
    create("a Role of another name", inNamespace(space, "roles"), role(space, "tried", [rule])),
    create("a Role with other rights", inNamespace(space, "roles"), role(space, generated, [rule, pods])),
    create("a RoleBinding to edit", inNamespace(space, "rolebindings"), bind(space, generated, clusterRole("edit"))),
    create("Secrets in an org's namespace", inNamespace(org, "rolebindings"), bind(org, generated, SECRETS_ROLE)),
    create(
      "a role of an org in a space",
      inNamespace(space, "rolebindings"),
      bind(space, "organization-user-x-12345", clusterRole("cupola-org-user")),
    ),
    remove("a binding of the chart", inNamespace("cupola-system", "rolebindings/cupola-system-reader")),
    patch("a binding of the chart", inNamespace("cupola-system", "rolebindings/cupola-system-reader"), {
      subjects: [],
    }),
  ];
}

function secrets({ space, theirs }: Places): Attempt[] {
  const token = (account: string): Json => ({
    apiVersion: "v1",
    kind: "Secret",
    type: "kubernetes.io/service-account-token",
    metadata: { name: "tried", annotations: { "kubernetes.io/service-account.name": account } },
  });
  return [
    create(
      "a token of another account of the platform",
      `${NAMESPACES}/cupola-system/secrets`,
      token("cupola-controllers"),
    ),
    create("a token of an account in a space", `${NAMESPACES}/${space}/secrets`, token("default")),
    create("a Secret elsewhere", `${NAMESPACES}/${theirs}/secrets`, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "tried" },
    }),
  ];
}

/** No role of the platform has these rights. */
function beyondRoles({ theirs }: Places): Attempt[] {
  const admission = "/apis/admissionregistration.k8s.io/v1";
  return [
    create("a token for an account", `${NAMESPACES}/kube-system/serviceaccounts/default/token`, {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: {},
    }),
    {
      what: "another identity",
      send: (as) => as.send("GET", `${NAMESPACES}/kube-system`, { headers: { "Impersonate-User": "system:admin" } }),
    },
    patch("the approval of a certificate", "/apis/certificates.k8s.io/v1/certificatesigningrequests/x/approval", {}),
    ...listKindWrites(),
    create(
      "a webhook",
      `${admission}/validatingwebhookconfigurations`,
      named("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", { webhooks: [] }),
    ),
    create(
      "a webhook that changes objects",
      `${admission}/mutatingwebhookconfigurations`,
      named("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", { webhooks: [] }),
    ),
    remove("a node", "/api/v1/nodes/x"),
    patch("a node", "/api/v1/nodes/x", {}),
    create("a program in a Pod", `${NAMESPACES}/${theirs}/pods/theirs/exec`, {}),
  ];
}

/** Reads that no operation of the chart may do; an admission policy cannot refuse them, and a laptop's one process may. */
export function listReads({ theirs }: Places): Attempt[] {
  return ["kube-system", "cupola-system", theirs].map((name) => ({
    what: `the Secrets of ${name}`,
    send: (as: Api): Promise<Answer> => as.get(`${NAMESPACES}/${name}/secrets`),
  }));
}

/** Needs of the attempts to bind. */
export function listBoundRoles({ org }: Places): { path: string; object: Json }[] {
  const spaces = { ...OUR_RULE, resources: ["spaces"] };
  return [
    { path: `${ROLES}/clusterroles`, object: role(undefined, BOUND_CLUSTER_ROLE, [OUR_RULE]) },
    { path: inNamespace(org, "roles"), object: role(org, BOUND_ROLE, [spaces]) },
  ];
}

/** The platform's own work, which passes with the rights of an operation that does it. */
export function listDuties({ org, space, lent }: Places): Attempt[] {
  const at = (name: string): string => `${NAMESPACES}/${name}`;
  const ours = { "cupola.dev/namespace": "space", "cupola.dev/owner-uid": "mine" };
  const spaceRule = { apiGroups: ["cupola.dev"], resources: ["spaces"], resourceNames: ["dev"], verbs: ["get"] };
  const generated = "cupola-space-dev-read-0123456789";
  const group = "cupola-security-group-x-read-0123456789";
  const groupRule = { ...spaceRule, resources: ["securitygroups"] };
  const bindings = `${ROLES}/clusterrolebindings`;
  return [
    ...workloads(space, "its work"),
    create("a namespace that a webhook of others labelled", NAMESPACES, {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "labelled", labels: { ...ours, "istio-injection": "enabled", "example.org/team": "x" } },
    }),
    create("a namespace", NAMESPACES, {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "tried", labels: ours },
    }),
    patch("an adoption with consent", at(lent), {
      metadata: { labels: ours, annotations: { "cupola.dev/space-name": "x" } },
    }),
    patch("a suspension", at(space), { metadata: { labels: { "cupola.dev/suspended": "space" } } }),
    patch("labels of the org and the space", at(space), {
      metadata: {
        labels: {
          "cupola.dev/org": "acme",
          "org.cupola.dev/tier": "gold",
          "example.com.space.cupola.dev/tier": "gold",
        },
      },
    }),
    patch("as many labels of both as it mirrors, of the longest keys", at(space), {
      metadata: { labels: MANY_LABELS },
    }),
    patch("a release", at(space), {
      metadata: { labels: { "cupola.dev/owner-uid": null, "cupola.dev/namespace": null } },
    }),
    remove("the end of a space", at(space)),
    create("a role of an org's members", `${ROLES}/clusterroles`, role(undefined, GENERATED, [OUR_RULE])),
    create("its binding", bindings, bind(undefined, GENERATED, clusterRole(BOUND_CLUSTER_ROLE))),
    create("a role of a space's members", inNamespace(org, "roles"), role(org, generated, [spaceRule])),
    create(
      "its binding there",
      inNamespace(org, "rolebindings"),
      bind(org, generated, { kind: "Role", name: BOUND_ROLE }),
    ),
    create(
      "an operation's rights on Secrets",
      inNamespace(space, "rolebindings"),
      bind(space, generated, SECRETS_ROLE),
    ),
    create(
      "an org's managers in a space",
      inNamespace(space, "rolebindings"),
      bind(space, generated, clusterRole("cupola-space-org-manager")),
    ),
    create(
      "the creator of an org",
      inNamespace(org, "rolebindings"),
      bind(org, "organization-manager-x-12345", clusterRole("cupola-org-manager")),
    ),
    create(
      "the readers of a security group",
      inNamespace("cupola-system", "roles"),
      role("cupola-system", group, [groupRule]),
    ),
    create("a Secret of a space", `${at(space)}/secrets`, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "tried" },
    }),
  ];
}
