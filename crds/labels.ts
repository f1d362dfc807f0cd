// Label and annotation keys, in three tiers of stability (docs/labels.md). GUIDs go in labels, names in annotations: a CF name
// may contain spaces or exceed 63 characters.

/** Tier stable: no update of Cupola removes or renames these. */
export const STABLE_LABELS = {
  guid: "cupola.dev/guid",
  app: "cupola.dev/app-guid",
  process: "cupola.dev/process-guid",
  processType: "cupola.dev/process-type",
  space: "cupola.dev/space-guid",
  org: "cupola.dev/org-guid",
  orgName: "cupola.dev/org",
  spaceName: "cupola.dev/space",
  instanceIndex: "cupola.dev/instance-index",
  revision: "cupola.dev/revision",
  sourceType: "cupola.dev/source-type",
} as const;

/** Labels by which a Service or an autoscaler of a person's own selects the instances of a process, over all versions. */
export const INSTANCE_SELECTOR_LABELS = {
  app: STABLE_LABELS.app,
  processType: STABLE_LABELS.processType,
} as const;

/** Tier observe: readable, may change between releases. */
export const OBSERVE_LABELS = {
  ownerUid: "cupola.dev/owner-uid",
  managedBy: "cupola.dev/managed-by",
  lrp: "cupola.dev/lrp",
  taskRun: "cupola.dev/task-run",
  route: "cupola.dev/route-guid",
  serviceInstance: "cupola.dev/service-instance-guid",
  serviceBinding: "cupola.dev/service-binding-guid",
  serviceBroker: "cupola.dev/service-broker-guid",
  hub: "cupola.dev/hub",
  hubOwner: "cupola.dev/hub-owner",
} as const;

/** Tier internal: may change at any time. */
export const INTERNAL_LABELS = {
  adoptableBy: "cupola.dev/adoptable-by",
  suspended: "cupola.dev/suspended",
  namespaceKind: "cupola.dev/namespace",
  envAllowed: "cupola.dev/env",
  volume: "cupola.dev/volume",
  spaceRole: "cupola.dev/space-role",
} as const;

export const LABELS = { ...STABLE_LABELS, ...OBSERVE_LABELS, ...INTERNAL_LABELS } as const;

/** Values of a namespace's `suspended` label: the whole org, or only this space. */
export const SUSPENDED = { org: "org", space: "space" } as const;

export const ANNOTATIONS = {
  appName: "cupola.dev/app-name",
  spaceName: "cupola.dev/space-name",
  orgName: "cupola.dev/org-name",
  taskName: "cupola.dev/task-name",
  owner: "cupola.dev/owner",
  hubObject: "cupola.dev/hub-object",
  copiedTo: "cupola.dev/copied-to",
  createdBy: "cupola.dev/created-by",
  deletionWish: "cupola.dev/deletion-wish",
  askedBy: "cupola.dev/asked-by",
  importing: "cupola.dev/importing",
  traceparent: "cupola.dev/traceparent",
  originalUid: "cupola.dev/original-uid",
  originalCreated: "cupola.dev/original-created",
  originalUpdated: "cupola.dev/original-updated",
  schemaVersion: "cupola.dev/schema-version",
} as const;

/** Is this label or annotation key reserved for the platform or Kubernetes? Such keys are not CF metadata. */
export function isReservedKey(key: string): boolean {
  const prefix = key.includes("/") ? key.slice(0, key.indexOf("/")) : "";
  return (
    prefix === "cupola.dev" ||
    prefix.endsWith(".cupola.dev") ||
    prefix === "kubernetes.io" ||
    prefix.endsWith(".kubernetes.io") ||
    prefix === "k8s.io" ||
    prefix.endsWith(".k8s.io")
  );
}
