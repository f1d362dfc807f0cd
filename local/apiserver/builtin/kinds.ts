// The built-in kinds as resource types: schemas and discovery data from the generated files, rules from their own.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { KubeObject } from "../../../kube/api/object.ts";
import { textOf } from "./rules/rule.ts";
import { isMap, type JsonMap } from "../apply/values.ts";
import type { FieldError } from "../types.ts";
import { label1035Name, labelName, pathSegmentName, subdomainName } from "../registry/names.ts";
import type { ResourceType, Strategy, VersionType } from "../registry/types.ts";
import { builtinColumns } from "./columns.ts";
import { fillZeros, settleEmpties } from "./canonical.ts";
import { decodeTyped } from "./decode.ts";
import { applyBuiltinDefaults } from "./defaults.ts";
import { eventFromCore, eventToCore } from "./events.ts";
import { validateBuiltin, validateFirst } from "./rules.ts";
import { allocate, keepAllocated } from "./service.ts";
import { builtinSchemas, builtinView } from "./schemas.ts";

interface KindData {
  group: string;
  version: string;
  resource: string;
  kind: string;
  schema: string;
  namespaced: boolean;
  singular?: string;
  verbs: string[];
  shortNames?: string[];
  categories?: string[];
  subresources: { name: string; group: string; version: string; kind: string; verbs: string[] }[];
}

/** Kinds whose only verb is create: other folders answer them. */
export interface VirtualKind {
  group: string;
  resource: string;
  singular: string;
}

const NAME_RULES: Record<string, (name: string, isPrefix: boolean) => string[]> = {
  Namespace: labelName,
  Service: label1035Name,
  Role: pathSegmentName,
  ClusterRole: pathSegmentName,
  RoleBinding: pathSegmentName,
  ClusterRoleBinding: pathSegmentName,
};
const WITH_GENERATION = new Set([
  "Deployment",
  "ReplicaSet",
  "StatefulSet",
  "DaemonSet",
  "Job",
  "Ingress",
  "NetworkPolicy",
  "PodDisruptionBudget",
  "CustomResourceDefinition",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionPolicyBinding",
  "ValidatingWebhookConfiguration",
  "MutatingWebhookConfiguration",
  "EndpointSlice",
]);
/** Kinds whose generation counts something else than their spec. */
const GENERATION_OF: Record<string, (object: KubeObject) => unknown> = {
  Deployment: ({ spec, metadata }) => [spec, metadata.annotations ?? {}],
  EndpointSlice: (object) => [object.endpoints, object.ports, object.addressType],
  ValidatingWebhookConfiguration: (object) => object.webhooks,
  MutatingWebhookConfiguration: (object) => object.webhooks,
};
const RETURNS_DELETED = new Set(["Pod", "Service", "ServiceAccount", "PersistentVolumeClaim", "ResourceQuota"]);
const CONDITIONAL = new Set([
  "CustomResourceDefinition",
  "Lease",
  "PodDisruptionBudget",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionPolicyBinding",
  "ValidatingWebhookConfiguration",
  "MutatingWebhookConfiguration",
]);
/** Kinds whose update creates a missing object. */
const CREATED_BY_UPDATE = new Set([
  "Lease",
  "Endpoints",
  "Event",
  "LimitRange",
  "Service",
  "Role",
  "RoleBinding",
  "ClusterRole",
  "ClusterRoleBinding",
]);
const SCALED = new Set(["deployments", "replicasets", "statefulsets"]);
/** Statuses that a create may carry: kube-apiserver resets the others. */
const STATUS_ON_CREATE = new Set(["Node", "Pod", "Namespace"]);

const at =
  (...path: string[]) =>
  (object: KubeObject): string => {
    let value: unknown = object;
    for (const key of path) value = isMap(value) ? value[key] : undefined;
    return textOf(value);
  };

const SELECTABLE: Record<string, ResourceType["selectableFields"]> = {
  Secret: { type: at("type") },
  Namespace: { "status.phase": at("status", "phase") },
  Pod: {
    "spec.nodeName": at("spec", "nodeName"),
    "status.phase": at("status", "phase"),
    "spec.serviceAccountName": at("spec", "serviceAccountName"),
    "status.podIP": at("status", "podIP"),
    "spec.restartPolicy": at("spec", "restartPolicy"),
  },
  Service: { "spec.clusterIP": at("spec", "clusterIP"), "spec.type": at("spec", "type") },
  Event: Object.fromEntries([
    ...["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"].flatMap(
      (field): [string, (object: KubeObject) => string][] => [
        [`involvedObject.${field}`, (object) => at("involvedObject", field)(object) || at("regarding", field)(object)],
        [`regarding.${field}`, (object) => at("involvedObject", field)(object) || at("regarding", field)(object)],
      ],
    ),
    ["reason", at("reason")],
    ["type", at("type")],
    ["reportingComponent", at("reportingComponent")],
    ["source", at("source", "component")],
  ]),
};

/** Fields that new objects of some kinds get besides defaults. */
const PREPARE: Record<string, (object: KubeObject) => void> = {
  Namespace(object) {
    const { finalizers = [] } = (object.spec ?? {}) as { finalizers?: string[] };
    object.spec = { finalizers: finalizers.includes("kubernetes") ? finalizers : [...finalizers, "kubernetes"] };
    object.status = { phase: "Active" };
    object.metadata.labels = { ...object.metadata.labels, "kubernetes.io/metadata.name": object.metadata.name };
  },
  Event(object) {
    object.eventTime ??= null;
    if (object.apiVersion === "v1") object.reportingComponent ??= "";
    object.reportingInstance ??= "";
  },
  Job(object) {
    const spec = (object.spec ?? {}) as JsonMap;
    if (spec.manualSelector === true || !isMap(spec.template)) return;
    const { name, uid } = object.metadata;
    const labels = {
      "batch.kubernetes.io/controller-uid": uid,
      "batch.kubernetes.io/job-name": name,
      "controller-uid": uid,
      "job-name": name,
    };
    const metadata = (spec.template.metadata ??= {}) as JsonMap;
    metadata.labels = { ...(metadata.labels as object), ...labels };
    spec.selector ??= { matchLabels: { "batch.kubernetes.io/controller-uid": uid } };
    object.metadata.labels ??= { ...(metadata.labels as Record<string, string>) };
  },
  Pod(object) {
    object.status = { phase: "Pending", qosClass: "BestEffort" };
  },
  Service: allocate,
};

function prepareChange(object: KubeObject, old: KubeObject, subresource: string): void {
  if (object.kind === "Namespace") {
    if (subresource !== "finalize") object.spec = old.spec;
  } else if (object.kind === "Service" && subresource === "") keepAllocated(object, old);
}

function builtinStrategy(data: KindData, extraRules?: ExtraRules): Strategy {
  const hasStatus = data.subresources.some((sub) => sub.name === "status");
  const view = builtinView(data.schema);
  return {
    decode(body, version) {
      const faults = decodeTyped(view, body, data.kind, version.version);
      applyBuiltinDefaults(body);
      fillZeros(view, data.schema, body);
      return { object: body, faults };
    },
    prepareCreate(object, subresource) {
      if (hasStatus && !STATUS_ON_CREATE.has(data.kind)) delete object.status;
      // A write of the status allocates nothing.
      if (subresource === "") PREPARE[data.kind]?.(object);
      extraRules?.prepareCreate?.(object);
      fillZeros(view, data.schema, object);
      settleEmpties(data.schema, object);
    },
    prepareUpdate(object, old, subresource) {
      if (subresource === "status") keepAllBut(object, old, "status");
      if (subresource === "status" && data.kind === "Deployment") keepLabels(object, old);
      if (subresource !== "status" && hasStatus) restore(object, old, "status");
      prepareChange(object, old, subresource);
      extraRules?.prepareUpdate?.(object, old, subresource);
      fillZeros(view, data.schema, object);
      settleEmpties(data.schema, object);
    },
    validateFirst,
    validate: (object, old, subresource) => [
      ...validateBuiltin(object, old, subresource),
      ...(subresource === "status" ? [] : (extraRules?.validate?.(object, old) ?? [])),
    ],
    validateName: NAME_RULES[data.kind] ?? subdomainName,
    unconditionalUpdate: !CONDITIONAL.has(data.kind),
    createsOnUpdate: CREATED_BY_UPDATE.has(data.kind),
    ...(WITH_GENERATION.has(data.kind) && {
      generationOf: GENERATION_OF[data.kind] ?? ((object: KubeObject) => object.spec),
    }),
  };
}

/** Additions from a built-in kind's own folder. */
export interface ExtraRules {
  prepareCreate?(object: KubeObject): void;
  prepareUpdate?(object: KubeObject, old: KubeObject, subresource: string): void;
  validate?(object: KubeObject, old: KubeObject | undefined): FieldError[];
}

function keepLabels({ metadata }: KubeObject, old: KubeObject): void {
  if (old.metadata.labels) metadata.labels = old.metadata.labels;
  else delete metadata.labels;
}

/** Everything but one field (and metadata) comes from the old object. */
export function keepAllBut(object: KubeObject, old: KubeObject, field: string): void {
  for (const key of new Set([...Object.keys(object), ...Object.keys(old)])) {
    if (key !== field && key !== "metadata" && key !== "apiVersion" && key !== "kind") restore(object, old, key);
  }
}

/** A field as the old object has it. */
export function restore(object: KubeObject, old: KubeObject, field: string): void {
  if (old[field] === undefined) delete object[field];
  else object[field] = old[field];
}

/** An object without any field set, as Go's zero value prints it. */
function emptyOf({ group, version, kind, schema }: KindData): KubeObject {
  const object = { apiVersion: group ? `${group}/${version}` : version, kind, metadata: {} } as KubeObject;
  fillZeros(builtinView(schema), schema, object);
  return object;
}

function versionOf(data: KindData): VersionType {
  return {
    version: data.version,
    view: builtinView(data.schema),
    empty: emptyOf(data),
    openapi: builtinSchemas()[data.schema] ?? {},
    subresources: data.subresources.map(({ name, verbs, ...gvk }) => ({
      name,
      verbs,
      gvk: { group: gvk.group, version: gvk.version, kind: gvk.kind },
    })),
    columns: builtinColumns(data.kind),
    ...(SCALED.has(data.resource) && {
      scale: {
        specReplicas: ["spec", "replicas"],
        statusReplicas: ["status", "replicas"],
        selector: ["spec", "selector"],
      },
    }),
  };
}

/** All built-in kinds that are stored, and the names of those that only answer create. */
export function builtinKinds(extra: Record<string, ExtraRules>): { types: ResourceType[]; virtual: VirtualKind[] } {
  const all = JSON.parse(readFileSync(join(import.meta.dirname, "kinds.json"), "utf8")) as KindData[];
  const virtual = all
    .filter((data) => !data.verbs.includes("get"))
    .map((data) => ({
      group: data.group,
      resource: data.resource,
      singular: data.singular ?? data.kind.toLowerCase(),
    }));
  const types = all
    .filter((data) => data.verbs.includes("get"))
    .map((data): ResourceType => ({
      group: data.group,
      resource: data.resource,
      singular: data.singular ?? data.kind.toLowerCase(),
      kind: data.kind,
      listKind: `${data.kind}List`,
      namespaced: data.namespaced,
      shortNames: data.shortNames ?? [],
      categories: data.categories ?? [],
      verbs: data.verbs,
      storageKey: data.group === "events.k8s.io" ? "/events" : `${data.group}/${data.resource}`,
      storageVersion: data.version,
      versions: [versionOf(data)],
      strategy: builtinStrategy(data, extra[data.kind]),
      builtin: true,
      selectableFields: SELECTABLE[data.kind] ?? {},
      returnsDeleted: RETURNS_DELETED.has(data.kind),
      ...(data.group === "events.k8s.io" && { fromStored: eventFromCore, toStored: eventToCore }),
    }));
  return { types, virtual };
}
