// Attempts with the hub's credential on a spoke: its own work, and reads and writes beyond it. All writes are dry runs.
import type { Api, Json } from "../kubernetes/api.ts";
import { create, named, patch, remove, type Attempt } from "../permissions/attempt.ts";
import { BUNDLES } from "./spoke-bundles.ts";

/** Namespaces of the attempts. */
export interface SpokePlaces {
  /** The hub's id. */
  hub: string;
  /** Made by the hub, with the Secret `cupola-registry` of the spoke in it, and the Secrets and LRPs of the hub below. */
  own: string;
  /** Made by another hub through the same account, with an LRP `theirs` of its own. */
  others: string;
  /** A team's, without a label of ours. */
  foreign: string;
  /** A team's that consents to adoption by the hub. */
  lent: string;
  /** Objects in `own` that the hub made. */
  lrp: string;
  secret: string;
}

const NAMESPACES = "/api/v1/namespaces";
const LRPS = (namespace: string): string => `/apis/workloads.cupola.dev/v1alpha1/namespaces/${namespace}/lrps`;
const ROUTES = (namespace: string): string =>
  `/apis/workloads.cupola.dev/v1alpha1/namespaces/${namespace}/routebindings`;
const TASK_RUNS = (namespace: string): string => `/apis/workloads.cupola.dev/v1alpha1/namespaces/${namespace}/taskruns`;
const SECRETS = (namespace: string): string => `${NAMESPACES}/${namespace}/secrets`;

const identity = { guid: "guid", name: "name" };
const SPEC = {
  app: identity,
  space: identity,
  org: identity,
  droplet: { guid: "droplet", kind: "docker", image: "registry.example.org/shop:1" },
  memoryMB: 64,
  diskMB: 64,
  class: "deployment",
  rendering: "1",
  processGUID: "p",
  processType: "web",
  revision: "1",
  version: "1",
  ports: [],
  instances: 1,
  healthCheck: { type: "process" },
  readinessHealthCheck: { type: "process" },
};

/** An LRP as a hub makes it. */
export function hubLRP(hub: string, change: { metadata?: Json; spec?: Json } = {}): Json {
  return named("workloads.cupola.dev/v1alpha1", "LRP", {
    metadata: { name: "tried", labels: { "cupola.dev/hub": hub }, ...change.metadata },
    spec: { ...SPEC, ...change.spec },
  });
}

const namespaceOf = (hub: string, change: { name?: string; labels?: Json; more?: Json } = {}): Json => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: {
    name: change.name ?? "acme-new",
    labels: { "cupola.dev/hub": hub, "cupola.dev/namespace": "space", ...change.labels },
    ...change.more,
  },
});

const secretOf = (hub: string | undefined, change: Json = {}): Json => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "shop-env-0123456789abcdef", ...(hub && { labels: { "cupola.dev/hub": hub } }) },
  data: {},
  ...change,
});

function hubTaskRun(hub: string, spec: Json = {}): Json {
  const { app, space, org, droplet, memoryMB, diskMB } = SPEC;
  const what = { class: "job", taskGUID: "t", taskName: "migrate", command: "true" };
  return named("workloads.cupola.dev/v1alpha1", "TaskRun", {
    metadata: { name: "tried", labels: { "cupola.dev/hub": hub } },
    spec: { app, space, org, droplet, memoryMB, diskMB, ...what, ...spec },
  });
}

function hubRoute(hub: string, change: { metadata?: Json; spec?: Json } = {}): Json {
  const destination = { appGUID: "guid", app: "shop", processType: "web", port: 8080 };
  return named("workloads.cupola.dev/v1alpha1", "RouteBinding", {
    metadata: { name: "tried", labels: { "cupola.dev/hub": hub }, ...change.metadata },
    spec: {
      class: "ingress",
      routeGUID: "r",
      space: identity,
      org: identity,
      hostname: "tried.example.org",
      destinations: [destination],
      ...change.spec,
    },
  });
}

/** Everything that a hub needs. */
export function listHubDuties({ hub, own, lent, lrp }: SpokePlaces): Attempt[] {
  const env = [{ name: "A", valueFrom: { secretKeyRef: { name: "shop-env-0123456789abcdef", key: "A" } } }];
  const droplet = { ...SPEC.droplet, imagePullSecretRef: { name: "cupola-registry" } };
  return [
    create("a namespace of its own", NAMESPACES, namespaceOf(hub)),
    create(
      "one for a foreign label of a webhook",
      NAMESPACES,
      namespaceOf(hub, { labels: { "team.example.org": "x" } }),
    ),
    patch("a label of its namespace", `${NAMESPACES}/${own}`, { metadata: { labels: { "cupola.dev/space": "new" } } }),
    patch("a namespace that consents", `${NAMESPACES}/${lent}`, {
      metadata: { labels: { "cupola.dev/hub": hub, "cupola.dev/namespace": "space" } },
    }),
    create("a Secret of variables", SECRETS(own), secretOf(hub)),
    create("an LRP", LRPS(own), hubLRP(hub, { spec: { env, droplet } })),
    create("a run of a task", TASK_RUNS(own), hubTaskRun(hub, { env, droplet })),
    create("a route", ROUTES(own), hubRoute(hub)),
    patch("an LRP's instances", `${LRPS(own)}/${lrp}`, { spec: { instances: 3 } }),
    remove("an LRP", `${LRPS(own)}/${lrp}`),
    create("a ConfigMap of a bundle", `${NAMESPACES}/${BUNDLES}/configmaps`, configMapOf(hub)),
  ];
}

function configMapOf(hub: string | undefined, change: Json = {}): Json {
  const labels = hub === undefined ? {} : { "cupola.dev/hub": hub };
  return named("v1", "ConfigMap", { metadata: { name: "tried", labels, ...change }, data: {} });
}

/** Nothing but LRPs, namespaces and classes is the hub's to read, and by name the contents of bundles. */
export function listHubReads({ own, foreign, secret }: SpokePlaces): Attempt[] {
  const get = (path: string): Attempt => ({ what: `read ${path}`, send: (as: Api) => as.get(path) });
  return [
    "/api/v1/pods",
    `${NAMESPACES}/${own}/pods`,
    `${NAMESPACES}/${own}/pods/any/log`,
    "/api/v1/nodes",
    "/api/v1/secrets",
    SECRETS(own),
    `${SECRETS(own)}/cupola-registry`,
    `${SECRETS(own)}/${secret}`,
    `${SECRETS(foreign)}/any`,
    `${SECRETS("cupola-system")}/cupola-hub-token`,
    `${SECRETS("cupola-system")}/cupola-registry`,
    `${SECRETS("kube-system")}/any`,
    `${NAMESPACES}/${own}/configmaps`,
    `${NAMESPACES}/${BUNDLES}/configmaps`,
    `${NAMESPACES}/${BUNDLES}/secrets`,
    `${NAMESPACES}/kube-system/configmaps/any`,
    `${NAMESPACES}/${own}/serviceaccounts`,
    `${NAMESPACES}/${own}/services`,
    `${NAMESPACES}/${own}/services/https:cupola-logs:https/proxy/`,
    `${NAMESPACES}/cupola-system/services/cupola-logs/proxy/`,
    `${NAMESPACES}/cupola-system/services/https:cupola-agent:https/proxy/`,
    "/apis/apps/v1/deployments",
    `/apis/apps/v1/namespaces/${own}/deployments`,
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    `/apis/rbac.authorization.k8s.io/v1/namespaces/${own}/rolebindings`,
    "/apis/cupola.dev/v1alpha1/replicas",
  ].map(get);
}

export function listHubAttacks(places: SpokePlaces): Attempt[] {
  return [
    ...attacksOnNamespaces(places),
    ...attacksOnContents(places),
    ...attacksOnSecrets(places),
    ...attacksByBundles(places),
    ...attacksOnNetworks(places),
    ...otherAttacks(places),
  ];
}

function attacksOnNamespaces({ hub, own, others, foreign, lent }: SpokePlaces): Attempt[] {
  const label = (what: string, namespace: string, labels: Json): Attempt =>
    patch(what, `${NAMESPACES}/${namespace}`, { metadata: { labels } });
  const ours = { "cupola.dev/hub": hub, "cupola.dev/namespace": "space" };
  return [
    label("take a foreign namespace", foreign, ours),
    label("take kube-system", "kube-system", ours),
    label("take cupola-system", "cupola-system", ours),
    label("take the namespace of another hub", others, ours),
    label("give consent for a namespace", foreign, { "cupola.dev/adoptable-by": hub }),
    label("take the consent away", lent, { ...ours, "cupola.dev/adoptable-by": null }),
    label("take a namespace in the name of another hub", lent, { ...ours, "cupola.dev/hub": "another" }),
    label("loosen Pod Security", own, { "pod-security.kubernetes.io/enforce": "privileged" }),
    label("take a foreign label off", own, { team: null }),
    label("leave a namespace without its mark", own, { "cupola.dev/hub": null }),
    label("make it an org's", own, { "cupola.dev/namespace": "org" }),
    patch("put a finalizer on a namespace", `${NAMESPACES}/${own}`, { metadata: { finalizers: ["example.org/x"] } }),
    patch("annotate for others", `${NAMESPACES}/${own}`, {
      metadata: { annotations: { "scheduler.alpha.kubernetes.io/node-selector": "x=y" } },
    }),
    create("a namespace without the mark", NAMESPACES, namespaceOf("", { labels: { "cupola.dev/hub": null } })),
    create(
      "a privileged namespace",
      NAMESPACES,
      namespaceOf(hub, { labels: { "pod-security.kubernetes.io/enforce": "privileged" } }),
    ),
    create("a reserved namespace", NAMESPACES, namespaceOf(hub, { name: "kube-hub" })),
    create(
      "a namespace that anybody adopts",
      NAMESPACES,
      namespaceOf(hub, { labels: { "cupola.dev/adoptable-by": "x" } }),
    ),
    remove("its own namespace", `${NAMESPACES}/${own}`),
    remove("a foreign namespace", `${NAMESPACES}/${foreign}`),
  ];
}

function attacksOnContents({ hub, own, others, foreign }: SpokePlaces): Attempt[] {
  const withEnv = (name: string): Json => ({ env: [{ name: "A", valueFrom: { secretKeyRef: { name, key: "k" } } }] });
  const owner = { apiVersion: "v1", kind: "ConfigMap", name: "gone", uid: "00000000-0000-4000-8000-000000000000" };
  const files = { mountPath: "/etc/f", secretRef: { name: "cupola-registry" }, items: [{ key: "k", path: "a/b" }] };
  const droplet = { ...SPEC.droplet, imagePullSecretRef: { name: "database" } };
  const abroad = [{ appGUID: "guid", app: "shop", namespace: foreign, processType: "web", port: 8080 }];
  const volumes = [{ mountPath: "/data", claimName: "theirs", readOnly: true }];
  return [
    create("an LRP in a foreign namespace", LRPS(foreign), hubLRP(hub)),
    create("an LRP in cupola-system", LRPS("cupola-system"), hubLRP(hub)),
    create("an LRP in the namespace of another hub", LRPS(others), hubLRP(hub)),
    create("an LRP without the mark", LRPS(own), hubLRP(hub, { metadata: { labels: {} } })),
    create(
      "an LRP that others' garbage collection ends",
      LRPS(own),
      hubLRP(hub, { metadata: { labels: { "cupola.dev/hub": hub }, ownerReferences: [owner] } }),
    ),
    create("an LRP with the registry's credential", LRPS(own), hubLRP(hub, { spec: withEnv("cupola-registry") })),
    create("an LRP with somebody's Secret", LRPS(own), hubLRP(hub, { spec: withEnv("database") })),
    create("an LRP with somebody's Secret as a file", LRPS(own), hubLRP(hub, { spec: { serviceFiles: files } })),
    create("an LRP that pulls by somebody's Secret", LRPS(own), hubLRP(hub, { spec: { droplet } })),
    create("an LRP with a volume", LRPS(own), hubLRP(hub, { spec: { volumes } })),
    create("a task's run in a foreign namespace", TASK_RUNS(foreign), hubTaskRun(hub)),
    create("a task's run without the mark", TASK_RUNS(own), hubTaskRun("")),
    create("a task's run with somebody's Secret", TASK_RUNS(own), hubTaskRun(hub, withEnv("database"))),
    create("a task's run with a volume", TASK_RUNS(own), hubTaskRun(hub, { volumes })),
    create("a route in a foreign namespace", ROUTES(foreign), hubRoute(hub)),
    create("a route without the mark", ROUTES(own), hubRoute(hub, { metadata: { labels: {} } })),
    create("a route to a foreign namespace", ROUTES(own), hubRoute(hub, { spec: { destinations: abroad } })),
    patch("somebody's LRP in its namespace", `${LRPS(own)}/somebodys`, { spec: { instances: 0 } }),
    patch("somebody's LRP by its mark", `${LRPS(own)}/somebodys`, { metadata: { labels: { "cupola.dev/hub": hub } } }),
    remove("somebody's LRP in its namespace", `${LRPS(own)}/somebodys`),
    patch("an LRP's status", `${LRPS(own)}/somebodys/status`, { status: { runningInstances: 9 } }),
  ];
}

function attacksOnSecrets({ hub, own, others, foreign, secret }: SpokePlaces): Attempt[] {
  const token = {
    metadata: {
      name: "shop-env-0123456789abcdef",
      labels: { "cupola.dev/hub": hub },
      annotations: { "kubernetes.io/service-account.name": "default" },
    },
    type: "kubernetes.io/service-account-token",
  };
  return [
    create("a Secret in a foreign namespace", SECRETS(foreign), secretOf(hub)),
    create("a Secret in kube-system", SECRETS("kube-system"), secretOf(hub)),
    create("a Secret in cupola-system", SECRETS("cupola-system"), secretOf(hub)),
    create("a Secret of another hub", SECRETS(others), secretOf(hub)),
    create("a Secret without the mark", SECRETS(own), secretOf(undefined)),
    create("a Secret with a token of an account", SECRETS(own), secretOf(hub, token)),
    create(
      "a Secret of another name",
      SECRETS(own),
      secretOf(hub, { metadata: { name: "database", labels: { "cupola.dev/hub": hub } } }),
    ),
    patch("its own Secret", `${SECRETS(own)}/${secret}`, { metadata: { labels: { x: "y" } } }),
    patch("the registry's credential", `${SECRETS(own)}/cupola-registry`, { metadata: { labels: { x: "y" } } }),
    remove("its own Secret", `${SECRETS(own)}/${secret}`),
  ];
}

function attacksByBundles({ hub, own, foreign }: SpokePlaces): Attempt[] {
  const at = (namespace: string): string => `${NAMESPACES}/${namespace}/configmaps`;
  const owner = { apiVersion: "v1", kind: "ConfigMap", name: "somebodys", uid: "u" };
  const role = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" };
  return [
    ...[own, foreign, "default", "kube-system", "cupola-system"].map((namespace) =>
      create(`a ConfigMap in ${namespace}`, at(namespace), configMapOf(hub)),
    ),
    create("a ConfigMap without the label", at(BUNDLES), configMapOf(undefined)),
    create("a ConfigMap with an owner", at(BUNDLES), configMapOf(hub, { ownerReferences: [owner] })),
    create("a ConfigMap with a finalizer", at(BUNDLES), configMapOf(hub, { finalizers: ["example.org/x"] })),
    patch("somebody's ConfigMap", `${at(BUNDLES)}/somebodys`, { data: { a: "b" } }),
    patch("somebody's ConfigMap, taken", `${at(BUNDLES)}/somebodys`, {
      metadata: { labels: { "cupola.dev/hub": hub } },
    }),
    remove("somebody's ConfigMap", `${at(BUNDLES)}/somebodys`),
    ...["ServiceMonitor", "PodMonitor"].map((kind) =>
      create(
        `a ${kind} that sends Prometheus' token to somebody`,
        `/apis/monitoring.coreos.com/v1/namespaces/${BUNDLES}/${kind.toLowerCase()}s`,
        named("monitoring.coreos.com/v1", kind, { spec: { endpoints: [{ proxyUrl: "http://192.0.2.1" }] } }),
      ),
    ),
    create("a Secret among bundles", SECRETS(BUNDLES), secretOf(hub)),
    create("a Service among bundles", `${NAMESPACES}/${BUNDLES}/services`, named("v1", "Service", { spec: {} })),
    create(
      "a RoleBinding among bundles",
      `/apis/rbac.authorization.k8s.io/v1/namespaces/${BUNDLES}/rolebindings`,
      named("rbac.authorization.k8s.io/v1", "RoleBinding", { roleRef: role }),
    ),
  ];
}

const NETWORKS = (namespace: string): string => `/apis/networking.k8s.io/v1/namespaces/${namespace}/networkpolicies`;

function attacksOnNetworks({ hub, own, foreign }: SpokePlaces): Attempt[] {
  const open = named("networking.k8s.io/v1", "NetworkPolicy", {
    metadata: { name: "tried", labels: { "cupola.dev/hub": hub } },
    spec: { podSelector: {}, policyTypes: ["Egress"], egress: [{}] },
  });
  return [
    create("a NetworkPolicy that opens all", NETWORKS(own), open),
    create("a NetworkPolicy in a foreign namespace", NETWORKS(foreign), open),
    patch("the isolation of its apps", `${NETWORKS(own)}/cupola-apps`, { spec: { egress: [{}] } }),
    remove("the isolation of its apps", `${NETWORKS(own)}/cupola-apps`),
  ];
}

function otherAttacks({ own }: SpokePlaces): Attempt[] {
  const rbac = "rbac.authorization.k8s.io";
  const roleRef = { apiGroup: rbac, kind: "ClusterRole", name: "cluster-admin" };
  const account = "/api/v1/namespaces/cupola-system/serviceaccounts";
  const tokenRequest = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
  const pod = { spec: { containers: [{ name: "x", image: "x" }] } };
  return [
    create("a pod", `${NAMESPACES}/${own}/pods`, named("v1", "Pod", pod)),
    create(
      "a RoleBinding",
      `/apis/${rbac}/v1/namespaces/${own}/rolebindings`,
      named(`${rbac}/v1`, "RoleBinding", { roleRef }),
    ),
    create(
      "a ClusterRoleBinding",
      `/apis/${rbac}/v1/clusterrolebindings`,
      named(`${rbac}/v1`, "ClusterRoleBinding", { roleRef }),
    ),
    ...["cupola-agent", "cupola-hub"].map((name): Attempt => ({
      what: `a token of ${name}`,
      send: (as) => as.post(`${account}/${name}/token?dryRun=All`, tokenRequest),
    })),
  ];
}
