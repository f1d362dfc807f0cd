// Facts of the Kubernetes below Cupola: its version and clock, the caller's rights, Gateways, metrics.
import type { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { listManifests } from "../../crds/manifests.ts";
import { ClusterRole, Role, SelfSubjectAccessReview, SelfSubjectRulesReview } from "../../kube/api/builtin.ts";
import { parseQuantity } from "../../kube/api/quantity.ts";
import type { Condition, KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { missingRules } from "../../kube/rbac/covers.ts";
import type { PolicyRule } from "../../kube/rbac/types.ts";
import { listOperationManifests } from "../../platform/operations/permissions.ts";
import type { GatewayRow } from "./facts.ts";
import type { FactReader } from "./fact-reader.ts";

interface ServerFacts {
  kubernetes: { gitVersion: string; major: number; minor: number };
  clockAheadMs: number;
  admissionResources: readonly string[];
}

export async function readServer({ kube, call, surroundings }: FactReader): Promise<ServerFacts> {
  const startedAt = surroundings.now();
  const answer = await kube.stream("GET", "/version", call);
  const middle = (startedAt + surroundings.now()) / 2;
  const version = JSON.parse(await answer.body.text()) as { major: string; minor: string; gitVersion: string };
  const date = Date.parse(String(answer.headers["date"]));
  const { resources } = (await kube.raw("GET", "/apis/admissionregistration.k8s.io/v1", undefined, call)) as {
    resources: { name: string }[];
  };
  return {
    // Some distributions add a plus sign to the minor version.
    kubernetes: {
      gitVersion: version.gitVersion,
      major: Number.parseInt(version.major, 10),
      minor: Number.parseInt(version.minor, 10),
    },
    // The header has whole seconds, rounded down.
    clockAheadMs: Number.isNaN(date) ? 0 : date + 500 - middle,
    admissionResources: resources.map(({ name }) => name),
  };
}

type KindOfRBAC = readonly [group: string, resource: string];

/** Kinds without a namespace that the chart creates, as RBAC names them. */
const CREATED_IN_CLUSTER: readonly KindOfRBAC[] = [
  ["", "namespaces"],
  ["apiextensions.k8s.io", "customresourcedefinitions"],
  ["rbac.authorization.k8s.io", "clusterroles"],
  ["rbac.authorization.k8s.io", "clusterrolebindings"],
  ["admissionregistration.k8s.io", "validatingadmissionpolicies"],
  ["admissionregistration.k8s.io", "validatingadmissionpolicybindings"],
];

/** Kinds that the chart creates in its namespace. */
const CREATED_IN_NAMESPACE: readonly KindOfRBAC[] = [
  ["", "serviceaccounts"],
  ["", "secrets"],
  ["", "configmaps"],
  ["", "services"],
  ["rbac.authorization.k8s.io", "roles"],
  ["rbac.authorization.k8s.io", "rolebindings"],
  ["apps", "deployments"],
  ["batch", "jobs"],
  ["policy", "poddisruptionbudgets"],
  ["networking.k8s.io", "networkpolicies"],
];

/** Rights by namespace come with a namespace. A RoleBinding gives none over kinds that have no namespace. */
type Scope = { namespace?: string };
const IN_CLUSTER: Scope = {};
const IN_NAMESPACE: Scope = { namespace: SYSTEM_NAMESPACE };

/** No such namespace exists, so whoever has a right there has it everywhere: a review of rules needs some namespace. */
const NO_NAMESPACE = "cupola-doctor-none";

/** Rights that an installation needs: to create what the chart has, and all that its roles give. */
export async function readMissingRights(reader: FactReader): Promise<string[]> {
  const missing = await Promise.all([
    ...CREATED_IN_CLUSTER.map((kind) => readMissingCreate(reader, kind, IN_CLUSTER)),
    ...CREATED_IN_NAMESPACE.map((kind) => readMissingCreate(reader, kind, IN_NAMESPACE)),
    readMissingRules(reader, ClusterRole, IN_CLUSTER),
    readMissingRules(reader, Role, IN_NAMESPACE),
  ]);
  return [...new Set(missing.flat())];
}

async function readMissingCreate(reader: FactReader, [group, resource]: KindOfRBAC, scope: Scope): Promise<string[]> {
  const isCreatable = await isAllowed(reader, { group, resource, verb: "create", ...scope });
  return isCreatable ? [] : [`create ${nameOf(group, resource)}`];
}

const nameOf = (group: string, resource: string): string => (group === "" ? resource : `${resource}.${group}`);

async function isAllowed(
  { kube, call }: FactReader,
  resourceAttributes: { group: string; resource: string; verb: string } & Scope,
): Promise<boolean> {
  const { status } = await kube.review(SelfSubjectAccessReview, { spec: { resourceAttributes } }, call);
  return status?.allowed ?? false;
}

/** Kubernetes refuses a role with rights that its author lacks, unless the author may escalate. */
async function readMissingRules(
  reader: FactReader,
  roles: typeof ClusterRole | typeof Role,
  scope: Scope,
): Promise<string[]> {
  if (await isAllowed(reader, { group: roles.group, resource: roles.plural, verb: "escalate", ...scope })) return [];
  const { namespace = NO_NAMESPACE } = scope;
  const { status } = await reader.kube.review(SelfSubjectRulesReview, { spec: { namespace } }, reader.call);
  // Another authorizer than RBAC may know more.
  if (!status || status.incomplete) return [];
  const wanted = [...listManifests().flatMap(({ objects }) => objects), ...listOperationManifests()]
    .filter(({ kind }) => kind === roles.kind)
    .flatMap((role) => (role["rules"] ?? []) as PolicyRule[]);
  return missingRules(status.resourceRules as PolicyRule[], wanted).flatMap(({ verbs, apiGroups, resources }) =>
    (resources ?? []).map((resource) => `${verbs.join(",")} ${nameOf(apiGroups?.[0] ?? "", resource)}`),
  );
}

const Gateway: ResourceRef = {
  group: "gateway.networking.k8s.io",
  version: "v1",
  kind: "Gateway",
  plural: "gateways",
  namespaced: true,
};

/** The Gateway that the router class names. */
export async function readGateways(
  { kube, call }: FactReader,
  classes: readonly BackendClass[],
): Promise<GatewayRow[]> {
  const parameters = classes.find(({ metadata }) => metadata.name === "gateway")?.spec.parameters;
  const { gatewayName: name, gatewayNamespace: namespace } = parameters ?? {};
  if (!name || !namespace) return [];
  const gateway = await kube.find(Gateway, { namespace, name }, call);
  return [{ namespace, name, problem: problemOf(gateway) }];
}

function problemOf(gateway: KubeObject | undefined): string | undefined {
  if (!gateway) return "does not exist";
  const { conditions = [] } = (gateway["status"] ?? {}) as { conditions?: Condition[] };
  const programmed = conditions.find(({ type }) => type === "Programmed");
  if (programmed?.status === "True") return undefined;
  return `is not Programmed${programmed ? `: ${programmed.message || programmed.reason}` : ""}`;
}

const APIService: ResourceRef = {
  group: "apiregistration.k8s.io",
  version: "v1",
  kind: "APIService",
  plural: "apiservices",
  namespaced: false,
};

export async function readMetricsProblem({ kube, call }: FactReader): Promise<string | undefined> {
  const service = await kube.find(APIService, { name: "v1beta1.metrics.k8s.io" }, call);
  if (!service) return "is not installed";
  const { conditions = [] } = (service["status"] ?? {}) as { conditions?: Condition[] };
  const available = conditions.find(({ type }) => type === "Available");
  return available?.status === "True" ? undefined : `is not available: ${available?.message ?? "no condition yet"}`;
}

const PodMetrics: ResourceRef<KubeObject & { containers?: { name: string; usage: { memory?: string } }[] }> = {
  group: "metrics.k8s.io",
  version: "v1beta1",
  kind: "PodMetrics",
  plural: "pods",
  namespaced: true,
};

/** @throws KubeError where no metrics-server is */
export async function readMemory({ list }: FactReader): Promise<ReadonlyMap<string, number>> {
  const pods = await list(PodMetrics, { namespace: SYSTEM_NAMESPACE });
  return new Map(
    pods.flatMap(({ metadata, containers = [] }) =>
      containers.map(({ name, usage }): [string, number] => [
        `${metadata.name}/${name}`,
        parseQuantity(usage.memory ?? "") ?? 0,
      ]),
    ),
  );
}
