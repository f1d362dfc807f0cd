// An object on a cluster of mode pull, as its Work shows it, and the Work of an object. Pure.
import { Namespace } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceDefinition } from "../../kube/api/resource.ts";
import { apiVersionOf, type ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Draft } from "../../kube/client/client.ts";
import { LABELS } from "../labels.ts";
import { wantedIndexes } from "../lrp/index-pool.ts";
import { LRP } from "../lrp/lrp.ts";
import { RouteBinding } from "../route-binding/route-binding.ts";
import { TaskRun } from "../task-run/task-run.ts";
import { WORK_FINALIZER, WORK_KIND_LABEL, clusterNamespace, workName } from "./names.ts";
import { Work } from "./work.ts";
import { isRecord } from "../../kube/api/is-record.ts";

type Status = NonNullable<Work["status"]>;

/** The kinds that a Work may hold, and the field of its status for each. */
const FIELDS: ReadonlyMap<ResourceRef, keyof Status | undefined> = new Map<ResourceRef, keyof Status | undefined>([
  [Namespace, undefined],
  [LRP, "lrp"],
  [TaskRun, "taskRun"],
  [RouteBinding, "routeBinding"],
]);

const DEFINED: readonly ResourceDefinition[] = [LRP, TaskRun, RouteBinding];

export const WORK_KINDS: readonly ResourceRef[] = [...FIELDS.keys()];

/** Bytes of an object as JSON. */
export const MAX_MANIFEST_BYTES = 256 * 1024;

/** Undefined for a kind that a pull cluster does not take. */
export function findWorkKind(kind: string): ResourceRef | undefined {
  return WORK_KINDS.find((ref) => ref.kind === kind);
}

/** The object without what a server writes. Undefined where somebody has written another Work. */
export function manifestOf({ spec }: Work): (Draft & { metadata: { name: string } }) | undefined {
  const ref = findWorkKind(spec.kind);
  const manifest = spec.manifest as Partial<Draft> | undefined;
  const metadata = ref && toMetadata(ref, manifest?.metadata ?? {});
  return metadata && { ...manifest, apiVersion: apiVersionOf(ref), kind: ref.kind, metadata };
}

function toMetadata(
  { namespaced }: ResourceRef,
  { name, namespace, labels, annotations }: Draft["metadata"],
): (Draft["metadata"] & { name: string }) | undefined {
  if (typeof name !== "string" || (namespaced && typeof namespace !== "string")) return undefined;
  return {
    name,
    ...(namespaced && namespace !== undefined && { namespace }),
    ...(labels && { labels }),
    ...(annotations && { annotations }),
  };
}

/** A new Work. The platform's marks of the object select it. */
export function toWork(cluster: string, ref: ResourceRef, object: Draft): Draft {
  const { name = "", namespace } = object.metadata;
  const hub = object.metadata.labels?.[LABELS.hub];
  return {
    apiVersion: apiVersionOf(Work),
    kind: Work.kind,
    metadata: {
      namespace: clusterNamespace(cluster),
      name: workName(ref.kind, { namespace, name }),
      labels: { [WORK_KIND_LABEL]: ref.kind, ...(hub !== undefined && { [LABELS.hub]: hub }) },
      finalizers: [WORK_FINALIZER],
    },
    spec: { kind: ref.kind, manifest: { ...object, apiVersion: apiVersionOf(ref), kind: ref.kind } },
  };
}

/** `manager` counts as the one that applied the object, but for one that is to be removed: whoever wants it applies it again. Undefined for a Work that holds none. */
export function toRemoteObject(work: Work, manager: string): KubeObject | undefined {
  const manifest = manifestOf(work);
  if (!manifest) return undefined;
  const content = withDefaults(manifest);
  if (!content) return undefined;
  const { uid, resourceVersion, creationTimestamp, deletionTimestamp } = work.metadata;
  const status = statusOf(work, manifest);
  return {
    ...content,
    metadata: {
      ...manifest.metadata,
      uid,
      resourceVersion,
      creationTimestamp,
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
      managedFields: work.spec.remove ? [] : [toManagedFields(manager, manifest)],
    },
    ...(status && { status }),
  } as KubeObject;
}

/** As a server answers with it. Undefined for an object that no server takes. */
function withDefaults(manifest: Draft): Draft | undefined {
  const definition = DEFINED.find(({ kind }) => kind === manifest.kind);
  if (!definition) return manifest;
  const { data: spec } = definition.spec.safeParse(manifest["spec"]);
  return spec && { ...manifest, spec };
}

/** The agent of a cluster may be anybody's by now: of an LRP only the instances count that it was told to run. */
function statusOf({ spec, status }: Work, manifest: Draft): object | undefined {
  const ref = findWorkKind(spec.kind);
  const field = ref && FIELDS.get(ref);
  const reported = field && status?.[field];
  if (!reported || ref !== LRP) return reported as object | undefined;
  const wanted = new Set(wantedIndexes((manifest as unknown as LRP).spec));
  const { instances, ...rest } = reported as NonNullable<LRP["status"]>;
  const known = instances?.filter(({ index }) => wanted.has(index));
  const running = known?.filter(({ state, ready }) => state === "Running" && ready).length;
  return { ...rest, ...(known && { instances: known, runningInstances: running }) };
}

/** The status of the Work for the status of its object. */
export function toWorkStatus(kind: string, status: unknown): Partial<Status> {
  const ref = findWorkKind(kind);
  const field = ref && FIELDS.get(ref);
  return field ? { [field]: status } : {};
}

type Fields = Record<string, unknown>;

function toManagedFields(manager: string, manifest: Draft): object {
  const fieldsV1 = { ...toFields(manifest), ...toMetadataFields(manifest) };
  return { manager, operation: "Apply", fieldsType: "FieldsV1", fieldsV1 };
}

function toMetadataFields({ metadata: { labels, annotations } }: Draft): Fields {
  return { "f:metadata": toFields({ ...(labels && { labels }), ...(annotations && { annotations }) }) };
}

/** As a server records what a manager applied: the keys of maps, and list items by the values that they have. */
function toFields(object: object): Fields {
  const { apiVersion: _version, kind: _kind, metadata: _metadata, ...rest } = object as Fields;
  return toEntries(rest);
}

function toEntries(value: unknown): Fields {
  if (Array.isArray(value)) {
    if (!value.every(isRecord)) return {};
    return Object.fromEntries(value.map((item) => [`k:${JSON.stringify(scalarsOf(item))}`, toEntries(item)]));
  }
  if (!isRecord(value)) return {};
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [`f:${key}`, toEntries(inner)]));
}

function scalarsOf(item: Fields): Fields {
  return Object.fromEntries(Object.entries(item).filter(([, value]) => typeof value !== "object"));
}
