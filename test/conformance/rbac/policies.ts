// Random sets of RBAC objects: few names, so that they meet each other and the questions often, and every odd form that the API accepts. Pure.
import type { PolicyRule, RbacKind, RoleRef, Subject } from "../../../kube/rbac/types.ts";
import type { Random } from "./random.ts";

/** A generated object; `labels` and `selectors` are for aggregation. */
export interface Policy {
  kind: RbacKind;
  name: string;
  namespace?: string;
  rules?: PolicyRule[];
  /** The labels that its selectors choose; such a role's rules are made by the cluster. */
  aggregates?: AggregationSelector[];
  labels?: Record<string, string>;
  roleRef?: RoleRef;
  subjects?: Subject[];
}

export interface AggregationSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: "In" | "NotIn" | "Exists" | "DoesNotExist"; values?: string[] }[];
}

/** Where namespaced objects are; questions ask about one more, in which nothing is. */
export const NAMESPACES = ["rd-a", "rd-b", "rd-c"] as const;
export const USERS = [
  "alice",
  "bob",
  "carl@example.org",
  "oidc:dora#1",
  "*",
  "alice:bob",
  "system:anonymous",
  "system:serviceaccount:rd-a:bot",
  "system:serviceaccount:rd-b:bot",
  "system:serviceaccount:rd-z:bot",
] as const;
export const GROUPS = [
  "dev",
  "ops",
  "alice",
  "*",
  "system:authenticated",
  "system:unauthenticated",
  "system:serviceaccounts",
  "system:serviceaccounts:rd-a",
] as const;
export const VERBS = ["get", "list", "watch", "create", "update", "delete", "impersonate", "bind", "GET", "*"] as const;
export const API_GROUPS = ["", "apps", "cupola.dev", "rbac.authorization.k8s.io", "*"] as const;
export const RESOURCES = ["pods", "apps", "spaces", "users", "*"] as const;
export const SUBRESOURCES = ["log", "env", "status", "*", "a/b"] as const;
export const NAMES = ["one", "two", "x.y", "system:three", "*"] as const;
export const PATHS = [
  "/healthz",
  "/healthz/etcd",
  "/healthz/",
  "/a",
  "/a/b",
  "/a/b/c",
  "/",
  "*",
  "/a/*",
  "healthz",
] as const;
/** On every generated object, so that a run finds its own again. */
export const RUN_LABEL = "rbac-diff.example/run";

const urlRules = [...PATHS, "/healthz*", "/a/**", "/*", "/a/*/c", "**"];
const serviceAccounts = ["bot", "alice"];
const clusterRoles = ["cr-0", "cr-1", "cr-2", "cr-3", "cr-4", "cr-5"];
const aggregated = ["agg-0", "agg-1", "agg-2"];
const roles = ["r-0", "r-1", "r-2"];
const bindings = ["b-0", "b-1", "b-2", "b-3"];
/** Nobody makes these. */
const dangling = ["gone", "r-9"];
const layers = ["0", "1", "2"];

/** A set. Objects of two sets with the same kind and name are two states of one object. */
export function makePolicies(random: Random): Policy[] {
  return [
    ...random.some(clusterRoles, 2, clusterRoles.length).map((name) => clusterRole(random, name)),
    // All of them in every set: kube-controller-manager applies the rules of an aggregated role, and so makes one again that is deleted meanwhile.
    ...aggregated.map((name) => aggregatedRole(random, name)),
    ...NAMESPACES.flatMap((namespace) =>
      random
        .some(roles, 0, roles.length)
        .map((name): Policy => ({ kind: "Role", name, namespace, rules: rules(random, false) })),
    ),
    ...random.some(bindings, 1, 4).map((name): Policy => ({
      kind: "ClusterRoleBinding",
      name: `rd-${name}`,
      roleRef: roleRef(random, "ClusterRole", name),
      subjects: subjects(random),
    })),
    ...NAMESPACES.flatMap((namespace) =>
      random.some(bindings, 0, 4).map((name) => roleBinding(random, name, namespace)),
    ),
  ];
}

function roleBinding(random: Random, name: string, namespace: string): Policy {
  return {
    kind: "RoleBinding",
    name,
    namespace,
    roleRef: roleRef(random, name < "b-2" ? "Role" : "ClusterRole", name),
    subjects: subjects(random),
  };
}

function clusterRole(random: Random, name: string): Policy {
  return {
    kind: "ClusterRole",
    name,
    rules: rules(random, true),
    labels: random.chance(60) ? { layer: random.pick(layers) } : {},
  };
}

/** Feeds only roles of higher numbers, so that no ring keeps rules alive that nobody wrote. */
function aggregatedRole(random: Random, name: string): Policy {
  const number = aggregated.indexOf(name);
  const feeds = layers.slice(number + 1);
  return {
    kind: "ClusterRole",
    name,
    aggregates: selectors(random, layers[number] ?? ""),
    labels: feeds.length > 0 && random.chance(70) ? { layer: random.pick(feeds), origin: name } : { origin: name },
  };
}

function selectors(random: Random, layer: string): AggregationSelector[] {
  const ofLayer: AggregationSelector = random.chance(50)
    ? { matchLabels: { layer } }
    : { matchExpressions: [{ key: "layer", operator: "In", values: [layer, "none"] }] };
  const narrowed: AggregationSelector = {
    matchLabels: { layer },
    matchExpressions: [{ key: "origin", operator: random.chance(50) ? "Exists" : "DoesNotExist" }],
  };
  return random.pick([[ofLayer], [narrowed], [ofLayer, narrowed], [narrowed, ofLayer]]);
}

/** Often the same for the same name: a binding's roleRef cannot change, and a binding that stays gets other subjects. */
function roleRef(random: Random, kind: "Role" | "ClusterRole", binding: string): RoleRef {
  const names = kind === "Role" ? roles : [...clusterRoles, ...aggregated];
  if (random.chance(60))
    return { apiGroup: "rbac.authorization.k8s.io", kind, name: names[bindings.indexOf(binding) % names.length] ?? "" };
  return {
    apiGroup: "rbac.authorization.k8s.io",
    kind,
    name: random.chance(10) ? random.pick(dangling) : random.pick(names),
  };
}

function subjects(random: Random): Subject[] {
  return Array.from({ length: random.int(5) }, () => subject(random));
}

function subject(random: Random): Subject {
  const apiGroup = "rbac.authorization.k8s.io";
  const dice = random.int(10);
  if (dice < 5) return { kind: "User", apiGroup, name: random.pick(USERS) };
  if (dice < 8) return { kind: "Group", apiGroup, name: random.pick(GROUPS) };
  return {
    kind: "ServiceAccount",
    namespace: random.pick([...NAMESPACES, "rd-z"]),
    name: random.pick(serviceAccounts),
  };
}

function rules(random: Random, withPaths: boolean): PolicyRule[] {
  return Array.from({ length: random.int(4) }, () =>
    withPaths && random.chance(35) ? pathRule(random) : resourceRule(random),
  );
}

function pathRule(random: Random): PolicyRule {
  return { verbs: verbs(random), nonResourceURLs: random.some(urlRules, 1, 2) };
}

function resourceRule(random: Random): PolicyRule {
  const resourceNames = random.chance(40) ? random.some([...NAMES, ""], 1, 3) : undefined;
  return {
    verbs: verbs(random),
    apiGroups: random.some(API_GROUPS, 1, 2),
    resources: Array.from({ length: 1 + random.int(3) }, () => resourceForm(random)),
    ...(resourceNames && { resourceNames }),
  };
}

/** The wildcard among the verbs is as likely as any other, and would allow too much. */
function verbs(random: Random): string[] {
  return random.some(random.chance(80) ? VERBS.slice(0, -1) : VERBS, 1, 4);
}

// `pods`, `pods/log`, `*/log`, `pods/*`, `*`, `*/*`: some mean something, some only look as if.
function resourceForm(random: Random): string {
  const resource = random.chance(80) ? random.pick(RESOURCES.slice(0, -1)) : "*";
  return random.chance(45) ? `${resource}/${random.pick(SUBRESOURCES)}` : resource;
}
