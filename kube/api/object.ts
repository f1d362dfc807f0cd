// Types that all Kubernetes objects share, and their keys.

/** `metadata.ownerReferences[]`. */
export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

/** `metadata.managedFields[]`; `fieldsV1` is the server's encoding of a set of field paths. */
export interface ManagedFieldsEntry {
  manager?: string;
  operation?: "Apply" | "Update";
  apiVersion?: string;
  time?: string;
  fieldsType?: "FieldsV1";
  fieldsV1?: Record<string, unknown>;
  subresource?: string;
}

/** `metadata` of an object. Server-set fields (uid, resourceVersion, …) are optional, so that drafts have the same type. */
export interface ObjectMeta {
  name: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  /** RFC 3339, whole seconds. */
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
  managedFields?: ManagedFieldsEntry[];
}

/** `status.conditions[]`, as metav1.Condition. */
export interface Condition {
  type: string;
  status: "True" | "False" | "Unknown";
  reason: string;
  message: string;
  lastTransitionTime: string;
  observedGeneration?: number;
}

/** Any Kubernetes object. Built-in kinds without spec and status have other top-level fields. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  [field: string]: unknown;
}

/** Identifies an object within its kind. `namespace` is absent for cluster-scoped kinds. */
export interface ObjectKey {
  namespace?: string;
  name: string;
}

/** A list response. */
export interface KubeList<T extends KubeObject = KubeObject> {
  apiVersion: string;
  kind: string;
  metadata: { resourceVersion: string; continue?: string; remainingItemCount?: number };
  items: T[];
}

/** The key as text: `namespace/name`, or `name` when cluster-scoped. */
export function keyOf(key: ObjectKey): string {
  return key.namespace ? `${key.namespace}/${key.name}` : key.name;
}

/** Parses the output of `keyOf`. */
export function parseKey(text: string): ObjectKey {
  const [first = "", second] = text.split("/");
  return second === undefined ? { name: first } : { namespace: first, name: second };
}

/** The key of an object. */
export function objectKey({ metadata: { namespace, name } }: KubeObject): ObjectKey {
  return namespace ? { namespace, name } : { name };
}
