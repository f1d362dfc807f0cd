// The columns of built-in kinds' tables, as kube-apiserver's printers define them.
import type { KubeObject } from "../../../kube/api/object.ts";
import { isMap } from "../apply/values.ts";
import { listOf, mapOf } from "./rules/rule.ts";
import { builtinSchemas, OBJECT_META } from "./schemas.ts";
import { since } from "../registry/age.ts";
import type { Column } from "../registry/types.ts";

type Cell = (object: KubeObject) => unknown;

const spec = (object: KubeObject) => mapOf(object.spec);
const status = (object: KubeObject) => mapOf(object.status);
const orNone = (text: string) => text || "<none>";
const joined = (values: unknown[]) => orNone(values.filter((value) => value !== undefined && value !== "").join(","));

function column(name: string, cell: Cell, rest: Partial<Column> = {}): Column {
  return { name, type: "string", format: "", description: "", priority: 0, cell, ...rest };
}
const wide = (name: string, cell: Cell) => column(name, cell, { priority: 1 });
const number = (name: string, cell: Cell) => column(name, cell, { type: "integer" });

/** As the schema of ObjectMeta describes a field. */
function describedBy(field: string): string {
  const properties = (builtinSchemas()[OBJECT_META]?.properties ?? {}) as Record<string, { description?: string }>;
  return properties[field]?.description ?? "";
}

const NAME = column("Name", (object) => object.metadata.name, { format: "name", description: describedBy("name") });
const AGE = column("Age", (object) => since(object.metadata.creationTimestamp, Date.now()), {
  description: describedBy("creationTimestamp"),
});
const CREATED = column("Created At", (object) => object.metadata.creationTimestamp, { type: "date" });

const selectorText = (selector: unknown) =>
  joined(Object.entries(mapOf(selector)).map(([key, value]) => `${key}=${String(value)}`));
const ports = (list: unknown) =>
  joined(
    listOf(list).map((port) =>
      port.nodePort
        ? `${String(port.port)}:${String(port.nodePort)}/${String(port.protocol)}`
        : `${String(port.port)}/${String(port.protocol)}`,
    ),
  );
const dataCount = (object: KubeObject) =>
  Object.keys(mapOf(object.data)).length + Object.keys(mapOf(object.binaryData)).length;
const podSpec = (object: KubeObject) => mapOf(mapOf(spec(object).template).spec);
const containerNames = (object: KubeObject) =>
  listOf(podSpec(object).containers)
    .map((each) => each.name)
    .join(",");
const images = (object: KubeObject) =>
  listOf(podSpec(object).containers)
    .map((each) => each.image)
    .join(",");
const matchLabels = (object: KubeObject) => selectorText(mapOf(spec(object).selector).matchLabels);
const subjects = (kind: string) => (object: KubeObject) =>
  listOf(object.subjects)
    .filter((subject) => subject.kind === kind)
    .map((subject) =>
      kind === "ServiceAccount" ? `${String(subject.namespace)}/${String(subject.name)}` : subject.name,
    )
    .join(", ");

function endpoints(object: KubeObject): string {
  const all = listOf(object.subsets).flatMap((subset) =>
    listOf(subset.addresses).flatMap((address) => {
      const list = listOf(subset.ports);
      return list.length === 0
        ? [String(address.ip)]
        : list.map((port) => `${String(address.ip)}:${String(port.port)}`);
    }),
  );
  return all.length > 3 ? `${all.slice(0, 3).join(",")} + ${all.length - 3} more...` : orNone(all.join(","));
}

function podReady(object: KubeObject): string {
  const statuses = listOf(status(object).containerStatuses);
  return `${statuses.filter((each) => each.ready === true).length}/${listOf(spec(object).containers).length}`;
}

const eventTarget = (object: KubeObject) => {
  const target = mapOf(object.involvedObject ?? object.regarding);
  return `${String(target.kind ?? "").toLowerCase()}/${String(target.name ?? "")}`;
};
const eventTime = (object: KubeObject) =>
  since(
    mapOf(object.series).lastObservedTime ??
      object.lastTimestamp ??
      object.deprecatedLastTimestamp ??
      object.eventTime ??
      object.metadata.creationTimestamp,
    Date.now(),
  );
const eventColumns = [
  column("Last Seen", eventTime),
  column("Type", (o) => o.type ?? ""),
  column("Reason", (o) => o.reason ?? ""),
  column("Object", eventTarget),
  wide("Subobject", (o) => mapOf(o.involvedObject ?? o.regarding).fieldPath ?? ""),
  wide("Source", (o) =>
    joined([mapOf(o.source).component ?? o.reportingComponent ?? o.reportingController, mapOf(o.source).host]),
  ),
  column("Message", (o) => String(o.message ?? o.note ?? "").trim()),
  wide("First Seen", (o) =>
    since(o.firstTimestamp ?? o.deprecatedFirstTimestamp ?? o.metadata.creationTimestamp, Date.now()),
  ),
  wide("Count", (o) => o.count ?? o.deprecatedCount ?? 1),
  { ...NAME, priority: 1 },
];

const WEBHOOKS = [NAME, number("Webhooks", (o) => listOf(o.webhooks).length), AGE];
const rolloutWide = [wide("Containers", containerNames), wide("Images", images), wide("Selector", matchLabels)];

const COLUMNS: Record<string, Column[]> = {
  Namespace: [NAME, column("Status", (o) => status(o).phase ?? ""), AGE],
  ConfigMap: [NAME, column("Data", dataCount), AGE],
  Secret: [NAME, column("Type", (o) => o.type ?? ""), column("Data", dataCount), AGE],
  Service: [
    NAME,
    column("Type", (o) => spec(o).type),
    column("Cluster-IP", (o) => orNone(String(spec(o).clusterIP ?? ""))),
    column("External-IP", (o) => orNone(spec(o).type === "ExternalName" ? String(spec(o).externalName ?? "") : "")),
    column("Port(s)", (o) => ports(spec(o).ports)),
    AGE,
    wide("Selector", (o) => selectorText(spec(o).selector)),
  ],
  ServiceAccount: [NAME, column("Secrets", (o) => listOf(o.secrets).length), AGE],
  Event: eventColumns,
  Endpoints: [NAME, column("Endpoints", endpoints), AGE],
  EndpointSlice: [
    NAME,
    column("AddressType", (o) => o.addressType),
    column("Ports", (o) => joined(listOf(o.ports).map((port) => port.port))),
    column("Endpoints", (o) =>
      joined(
        listOf(o.endpoints).flatMap((each) => (Array.isArray(each.addresses) ? (each.addresses as unknown[]) : [])),
      ),
    ),
    AGE,
  ],
  Lease: [NAME, column("Holder", (o) => spec(o).holderIdentity ?? ""), AGE],
  Role: [NAME, CREATED],
  ClusterRole: [NAME, CREATED],
  RoleBinding: [
    NAME,
    column("Role", (o) => `${String(mapOf(o.roleRef).kind)}/${String(mapOf(o.roleRef).name)}`),
    AGE,
    wide("Users", subjects("User")),
    wide("Groups", subjects("Group")),
    wide("ServiceAccounts", subjects("ServiceAccount")),
  ],
  CustomResourceDefinition: [NAME, CREATED],
  ValidatingAdmissionPolicy: [
    NAME,
    number("Validations", (o) => listOf(spec(o).validations).length),
    column("ParamKind", (o) =>
      isMap(spec(o).paramKind)
        ? `${String(mapOf(spec(o).paramKind).apiVersion)}/${String(mapOf(spec(o).paramKind).kind)}`
        : "<unset>",
    ),
    AGE,
  ],
  ValidatingAdmissionPolicyBinding: [
    NAME,
    column("PolicyName", (o) => spec(o).policyName),
    column("ParamRef", (o) =>
      isMap(spec(o).paramRef) ? joined([mapOf(spec(o).paramRef).namespace, mapOf(spec(o).paramRef).name]) : "<unset>",
    ),
    AGE,
  ],
  ValidatingWebhookConfiguration: WEBHOOKS,
  MutatingWebhookConfiguration: WEBHOOKS,
  DaemonSet: [
    NAME,
    number("Desired", (o) => status(o).desiredNumberScheduled ?? 0),
    number("Current", (o) => status(o).currentNumberScheduled ?? 0),
    number("Ready", (o) => status(o).numberReady ?? 0),
    number("Up-to-date", (o) => status(o).updatedNumberScheduled ?? 0),
    number("Available", (o) => status(o).numberAvailable ?? 0),
    column("Node Selector", (o) => selectorText(podSpec(o).nodeSelector)),
    AGE,
    ...rolloutWide,
  ],
  IngressClass: [
    NAME,
    column("Controller", (o) => spec(o).controller ?? ""),
    column("Parameters", (o) =>
      isMap(spec(o).parameters)
        ? `${String(mapOf(spec(o).parameters).kind)}/${String(mapOf(spec(o).parameters).name)}`
        : "<none>",
    ),
    AGE,
  ],
  LimitRange: [NAME, CREATED],
  Pod: [
    NAME,
    column("Ready", podReady),
    column("Status", (o) => (o.metadata.deletionTimestamp ? "Terminating" : (status(o).phase ?? "Unknown"))),
    column("Restarts", (o) =>
      String(listOf(status(o).containerStatuses).reduce((sum, each) => sum + Number(each.restartCount ?? 0), 0)),
    ),
    AGE,
    wide("IP", (o) => orNone(String(status(o).podIP ?? ""))),
    wide("Node", (o) => orNone(String(spec(o).nodeName ?? ""))),
    wide("Nominated Node", (o) => orNone(String(status(o).nominatedNodeName ?? ""))),
    wide("Readiness Gates", () => "<none>"),
  ],
  Deployment: [
    NAME,
    column("Ready", (o) => `${Number(status(o).readyReplicas ?? 0)}/${Number(spec(o).replicas ?? 0)}`),
    column("Up-to-date", (o) => status(o).updatedReplicas ?? 0),
    column("Available", (o) => status(o).availableReplicas ?? 0),
    AGE,
    ...rolloutWide,
  ],
  ReplicaSet: [
    NAME,
    number("Desired", (o) => spec(o).replicas ?? 0),
    number("Current", (o) => status(o).replicas ?? 0),
    number("Ready", (o) => status(o).readyReplicas ?? 0),
    AGE,
    ...rolloutWide,
  ],
  StatefulSet: [
    NAME,
    column("Ready", (o) => `${Number(status(o).readyReplicas ?? 0)}/${Number(spec(o).replicas ?? 0)}`),
    AGE,
    ...rolloutWide.slice(0, 2),
  ],
  Job: [
    NAME,
    column("Status", (o) =>
      String(listOf(status(o).conditions).find((each) => each.status === "True")?.type ?? "Running"),
    ),
    column("Completions", (o) => `${Number(status(o).succeeded ?? 0)}/${Number(spec(o).completions ?? 1)}`),
    column("Duration", () => ""),
    AGE,
    ...rolloutWide,
  ],
  Ingress: [
    NAME,
    column("Class", (o) => orNone(String(spec(o).ingressClassName ?? ""))),
    column("Hosts", (o) =>
      listOf(spec(o).rules).length === 0
        ? "*"
        : listOf(spec(o).rules)
            .map((rule) => rule.host ?? "*")
            .join(","),
    ),
    column("Address", () => ""),
    column("Ports", (o) => (listOf(spec(o).tls).length > 0 ? "80, 443" : "80")),
    AGE,
  ],
  NetworkPolicy: [NAME, column("Pod-Selector", (o) => selectorText(mapOf(spec(o).podSelector).matchLabels)), AGE],
  PodDisruptionBudget: [
    NAME,
    column("Min Available", (o) => String(spec(o).minAvailable ?? "N/A")),
    column("Max Unavailable", (o) => String(spec(o).maxUnavailable ?? "N/A")),
    number("Allowed Disruptions", (o) => status(o).disruptionsAllowed ?? 0),
    AGE,
  ],
  Node: [
    NAME,
    column("Status", (o) =>
      listOf(status(o).conditions).some((each) => each.type === "Ready" && each.status === "True")
        ? "Ready"
        : "NotReady",
    ),
    column("Roles", () => "<none>"),
    AGE,
    column("Version", (o) => mapOf(status(o).nodeInfo).kubeletVersion ?? ""),
  ],
};
COLUMNS.ClusterRoleBinding = COLUMNS.RoleBinding ?? [];

/** Columns of a built-in kind; name and age when nothing better is known. */
export function builtinColumns(kind: string): Column[] {
  return COLUMNS[kind] ?? [NAME, AGE];
}
