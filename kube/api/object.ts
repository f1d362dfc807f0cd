// The shapes every Kubernetes object shares. Types only: no I/O and no word about what the objects mean.

/** `metadata.ownerReferences[]`. */
export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

/** `metadata.managedFields[]`; `fieldsV1` is the server's own notation for a set of field paths. */
export interface ManagedFieldsEntry {
  manager?: string;
  operation?: "Apply" | "Update";
  apiVersion?: string;
  time?: string;
  fieldsType?: "FieldsV1";
  fieldsV1?: Record<string, unknown>;
  subresource?: string;
}

/** `metadata` of an object. What the server sets (uid, resourceVersion, …) is optional, so that one type serves before and after creation. */
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

/** Any object of the Kubernetes API. Built-in kinds without spec and status keep their own top-level fields. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  [field: string]: unknown;
}

/** Where an object lives. `namespace` is absent for cluster-scoped kinds. */
export interface ObjectKey {
  namespace?: string;
  name: string;
}

/** A list answer. */
export interface KubeList<T extends KubeObject = KubeObject> {
  apiVersion: string;
  kind: string;
  metadata: { resourceVersion: string; continue?: string; remainingItemCount?: number };
  items: T[];
}

/** The key of an object inside one kind: `namespace/name`, or `name` when cluster-scoped. */
export function keyOf(key: ObjectKey): string {
  return key.namespace ? `${key.namespace}/${key.name}` : key.name;
}

/** The key that `keyOf` made a text of. */
export function parseKey(text: string): ObjectKey {
  const [first = "", second] = text.split("/");
  return second === undefined ? { name: first } : { namespace: first, name: second };
}

/** Where the object is, and nothing else of it. */
export function objectKey({ metadata: { namespace, name } }: KubeObject): ObjectKey {
  return namespace ? { namespace, name } : { name };
}
