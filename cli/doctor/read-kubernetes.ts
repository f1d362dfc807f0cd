// Facts of the Kubernetes below Cupola: its version and clock, the caller's rights, Gateways, metrics.
import type { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { listManifests } from "../../crds/manifests.ts";
import { ClusterRole, SelfSubjectAccessReview, SelfSubjectRulesReview } from "../../kube/api/builtin.ts";
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

/** Kinds that the chart creates, as RBAC names them. */
const CREATED: readonly (readonly [group: string, resource: string])[] = [
  ["", "namespaces"],
  ["", "serviceaccounts"],
  ["", "secrets"],
  ["", "configmaps"],
  ["", "services"],
  ["apiextensions.k8s.io", "customresourcedefinitions"],
  ["rbac.authorization.k8s.io", "clusterroles"],
  ["rbac.authorization.k8s.io", "clusterrolebindings"],
  ["rbac.authorization.k8s.io", "roles"],
  ["rbac.authorization.k8s.io", "rolebindings"],
  ["admissionregistration.k8s.io", "validatingadmissionpolicies"],
  ["admissionregistration.k8s.io", "validatingadmissionpolicybindings"],
  ["apps", "deployments"],
  ["batch", "jobs"],
  ["policy", "poddisruptionbudgets"],
  ["networking.k8s.io", "networkpolicies"],
];

/** Rights that an installation needs: to create what the chart has, and all that its roles give. */
export async function readMissingRights(reader: FactReader): Promise<string[]> {
  const reviews = CREATED.map(async ([group, resource]) =>
    (await isAllowed(reader, { group, resource, verb: "create" })) ? [] : [`create ${nameOf(group, resource)}`],
  );
  const mayEscalate = await isAllowed(reader, {
    group: ClusterRole.group,
    resource: ClusterRole.plural,
    verb: "escalate",
  });
  return [...(await Promise.all(reviews)).flat(), ...(mayEscalate ? [] : await readMissingRules(reader))];
}

const nameOf = (group: string, resource: string): string => (group === "" ? resource : `${resource}.${group}`);

async function isAllowed(
  { kube, call }: FactReader,
  attributes: { group: string; resource: string; verb: string },
): Promise<boolean> {
  const resourceAttributes = { ...attributes, namespace: SYSTEM_NAMESPACE };
  const { status } = await kube.review(SelfSubjectAccessReview, { spec: { resourceAttributes } }, call);
  return status?.allowed ?? false;
}

/** Kubernetes refuses a role with rights that its author lacks. */
async function readMissingRules({ kube, call }: FactReader): Promise<string[]> {
  const { status } = await kube.review(SelfSubjectRulesReview, { spec: { namespace: SYSTEM_NAMESPACE } }, call);
  // Another authorizer than RBAC may know more.
  if (!status || status.incomplete) return [];
  const wanted = [...listManifests().flatMap(({ objects }) => objects), ...listOperationManifests()]
    .filter(({ kind }) => kind === "ClusterRole" || kind === "Role")
    .flatMap((role) => (role["rules"] ?? []) as PolicyRule[]);
  const missing = missingRules(status.resourceRules as PolicyRule[], wanted).flatMap(
    ({ verbs, apiGroups, resources }) =>
      (resources ?? []).map((resource) => `${verbs.join(",")} ${nameOf(apiGroups?.[0] ?? "", resource)}`),
  );
  return [...new Set(missing)];
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
