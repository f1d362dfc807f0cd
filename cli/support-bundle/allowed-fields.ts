// The fields of objects that a support bundle holds. An allow-list: a field that is not named here is left out, or its text is `***`. Pure.
import { hideUserinfo } from "../../crds/hide-userinfo.ts";
import { isReservedKey } from "../../crds/labels.ts";
import { toCustomResourceDefinition, type SchemaNode } from "../../kube/api/crd.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceDefinition } from "../../kube/api/resource.ts";
import { MASK, scrubText } from "./scrub-text.ts";

type Fields = Record<string, unknown>;

const METADATA: readonly string[] = [
  ...["name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp"],
  ...["finalizers", "ownerReferences.kind", "ownerReferences.name", "ownerReferences.uid"],
];
const CONDITIONS: readonly string[] = [
  "type",
  "status",
  "reason",
  "message",
  "lastTransitionTime",
  "observedGeneration",
].map((field) => `status.conditions.${field}`);
const CONTAINER_STATES: readonly string[] = ["state", "lastState"].flatMap((state) =>
  [
    ...["waiting.reason", "waiting.message", "running.startedAt", "terminated.reason", "terminated.message"],
    ...["terminated.exitCode", "terminated.signal", "terminated.startedAt", "terminated.finishedAt"],
  ].map((field) => `status.containerStatuses.${state}.${field}`),
);
const POD_TEMPLATE: readonly string[] = [
  ...["containers.name", "containers.image", "containers.resources", "containers.args", "containers.env.name"],
  ...["serviceAccountName", "priorityClassName", "nodeName", "schedulingGates.name", "terminationGracePeriodSeconds"],
];

/** Paths by kind; a list is walked through. The end of a path may be a map of quantities. */
const KUBERNETES_FIELDS: Readonly<Record<string, readonly string[]>> = {
  Pod: [
    ...POD_TEMPLATE.map((field) => `spec.${field}`),
    ...["phase", "reason", "message", "podIP", "hostIP", "startTime"].map((field) => `status.${field}`),
    ...["name", "ready", "restartCount", "image", "imageID"].map((field) => `status.containerStatuses.${field}`),
    ...CONTAINER_STATES,
  ],
  Deployment: [
    "spec.replicas",
    ...POD_TEMPLATE.map((field) => `spec.template.spec.${field}`),
    ...["replicas", "readyReplicas", "availableReplicas", "updatedReplicas"].map((field) => `status.${field}`),
    "status.observedGeneration",
  ],
  StatefulSet: ["spec.replicas", "status.replicas", "status.readyReplicas", "status.updatedReplicas"],
  ReplicaSet: ["spec.replicas", "status.replicas", "status.readyReplicas"],
  Job: ["spec.backoffLimit", "status.active", "status.failed", "status.succeeded", "status.startTime"],
  Service: ["spec.type", "spec.clusterIP", "spec.ports", "status.loadBalancer.ingress"],
  Ingress: [
    "spec.ingressClassName",
    "spec.rules.host",
    "spec.tls.hosts",
    "spec.tls.secretName",
    "status.loadBalancer.ingress",
  ],
  Lease: ["holderIdentity", "leaseDurationSeconds", "acquireTime", "renewTime", "leaseTransitions"].map(
    (field) => `spec.${field}`,
  ),
  Event: [
    ...["involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "reason", "message", "type", "count"],
    ...["firstTimestamp", "lastTimestamp", "eventTime", "reportingComponent", "source.component"],
  ],
  Node: [
    ...["kernelVersion", "osImage", "containerRuntimeVersion", "kubeletVersion", "architecture"].map(
      (field) => `status.nodeInfo.${field}`,
    ),
    ...["status.capacity", "status.allocatable", "spec.unschedulable", "spec.taints.key", "spec.taints.effect"],
  ],
  CustomResourceDefinition: [
    ...["spec.group", "spec.scope", "spec.versions.name", "spec.versions.served", "spec.versions.storage"],
    "status.storedVersions",
  ],
  ClusterRole: ["rules"],
  Role: ["rules"],
  ClusterRoleBinding: ["roleRef", "subjects"],
  RoleBinding: ["roleRef", "subjects"],
  Namespace: ["status.phase"],
  IngressClass: ["spec.controller"],
};

/** An object of Kubernetes' own kinds, or a Secret's metadata. */
export function keepKubernetesFields(object: KubeObject): KubeObject {
  const paths = [...CONDITIONS, ...(KUBERNETES_FIELDS[object.kind] ?? [])];
  return { ...headOf(object), ...(pick(object, paths) as Fields) };
}

function headOf({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  const kept = pick(metadata as unknown as Fields, METADATA) as KubeObject["metadata"];
  const { labels, annotations } = metadata;
  return {
    apiVersion,
    kind,
    metadata: {
      ...kept,
      ...(labels && { labels: keepReserved(labels) }),
      ...(annotations && { annotations: maskAll(annotations) }),
    },
  };
}

/** Values of labels of the platform and of Kubernetes. */
function keepReserved(labels: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(labels).map(([key, value]) => [
      key,
      isReservedKey(key) || key.startsWith("helm.sh/") ? value : MASK,
    ]),
  );
}

function maskAll(map: object): Record<string, string> {
  return Object.fromEntries(Object.keys(map).map((key) => [key, MASK]));
}

/** The values at the paths, with the structure above them. */
function pick(value: unknown, paths: readonly string[], key = ""): unknown {
  if (Array.isArray(value)) return value.map((item) => pick(item, paths, key));
  if (paths.includes("")) return keepLeaf(value, key);
  if (typeof value !== "object" || value === null) return undefined;
  const kept = Object.entries(value).flatMap(([field, inner]): [string, unknown][] => {
    const below = paths.flatMap((path) =>
      path === field ? [""] : path.startsWith(`${field}.`) ? [path.slice(field.length + 1)] : [],
    );
    return below.length === 0 ? [] : [[field, pick(inner, below, field)]];
  });
  return Object.fromEntries(kept);
}

/** Flags of the platform whose values are no secret. */
const KEPT_FLAGS =
  /^--(?:operation|host|port|data|scratch-mb|public-url|authorization|metrics-address|registry|insecure-registry)=/;

function keepLeaf(value: unknown, key: string): unknown {
  if (typeof value === "string") {
    if (key === "args")
      return KEPT_FLAGS.test(value) ? scrubText(value) : value.replace(/=.*$/s, `=${MASK}`).replace(/^[^-].*$/s, MASK);
    return key === "message" ? scrubText(value) : hideUserinfo(value);
  }
  if (Array.isArray(value)) return value.map((item) => keepLeaf(item, key));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([field, inner]) => [field, keepLeaf(inner, field)]));
}

/** Text fields of our kinds that hold names and states, not what people wrote. */
const OWN_TEXTS: ReadonlySet<string> = new Set([
  ...[
    "name",
    "namespace",
    "kind",
    "guid",
    "class",
    "rendering",
    "type",
    "state",
    "reason",
    "status",
    "version",
    "revision",
  ],
  ...["host", "hostname", "domain", "stack", "digest", "resource", "lrp", "scope", "claimed", "cluster", "operation"],
  ...["runner", "builder", "router", "role", "observedRestart", "processType", "processGUID", "catalog", "uid"],
]);
const OWN_PROSE: ReadonlySet<string> = new Set(["message", "details", "problem", "description"]);
const OWN_ADDRESSES: ReadonlySet<string> = new Set(["url", "image"]);

/** An object of one of our kinds, along its schema: numbers, choices and times stay, names, and scrubbed messages; other text, and every free map, is `***`. */
export function keepOwnFields(definition: ResourceDefinition, object: KubeObject): KubeObject {
  const { properties = {} } = schemaOf(definition) as { properties?: Record<string, SchemaNode> };
  const rest = ["spec", "status"].flatMap((part): [string, unknown][] =>
    object[part] === undefined ? [] : [[part, keepBySchema(properties[part] ?? {}, object[part], part)]],
  );
  return { ...headOf(object), ...Object.fromEntries(rest) };
}

const schemas = new WeakMap<ResourceDefinition, SchemaNode>();

function schemaOf(definition: ResourceDefinition): SchemaNode {
  const known = schemas.get(definition);
  if (known) return known;
  const { spec } = toCustomResourceDefinition(definition) as unknown as {
    spec: { versions: { schema: { openAPIV3Schema: SchemaNode } }[] };
  };
  const schema = spec.versions[0]?.schema.openAPIV3Schema ?? {};
  schemas.set(definition, schema);
  return schema;
}

function keepBySchema(schema: SchemaNode, value: unknown, key: string): unknown {
  if (typeof value === "number" || typeof value === "boolean" || value === null) return value;
  if (typeof value === "string") return keepText(schema, value, key);
  if (Array.isArray(value)) return value.map((item) => keepBySchema((schema["items"] ?? {}) as SchemaNode, item, key));
  const properties = schema["properties"] as Record<string, SchemaNode> | undefined;
  if (!properties) return maskAll(value as object);
  return Object.fromEntries(
    Object.entries(value as Fields).map(([field, inner]) => [
      field,
      properties[field] ? keepBySchema(properties[field], inner, field) : MASK,
    ]),
  );
}

function keepText(schema: SchemaNode, value: string, key: string): string {
  if (schema["enum"] !== undefined || schema["format"] === "date-time") return value;
  if (OWN_PROSE.has(key)) return scrubText(value);
  if (OWN_ADDRESSES.has(key)) return hideUserinfo(value).replace(/\?.*$/s, `?${MASK}`);
  return OWN_TEXTS.has(key) ? value : MASK;
}
