// Decides whether an object is exported, and what of it. Pure.
import { createdTimeOf, lastWriteOf, originalUidOf, originalUpdateOf } from "../../crds/origin.ts";
import { EVENT_LOGS } from "../../crds/event-logs.ts";
import { GROUP, SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { guidOf } from "../../crds/guid.ts";
import { ANNOTATIONS, LABELS } from "../../crds/labels.ts";
import { REGISTRY_SECRET } from "../../crds/registry-secret.ts";
import { findCFRole } from "../../crds/roles.ts";
import { SYSTEM_CREDENTIALS_SECRETS } from "../../crds/service-broker/credentials.ts";
import { findExportedKind, KUBERNETES_KINDS, NAMESPACE_OWNERS } from "../../crds/exported-kinds.ts";
import type { KubeObject, OwnerReference } from "../../kube/api/object.ts";

/** An object as an export has it, or the reason why it has none. */
export type Exported = { object: KubeObject } | { leftOut: string };

const BEING_DELETED = "it is being deleted";
const UNFINISHED = "unfinished work";

/** States at the end, of kinds whose objects are work that is done once. */
const FINISHED: Readonly<Record<string, readonly string[]>> = {
  Build: ["Staged", "Failed"],
  Task: ["Succeeded", "Failed"],
  Rollout: ["Deployed", "Canceled"],
};

export function exportObject(object: KubeObject): Exported {
  const leftOut = whyLeftOut(object);
  return leftOut === undefined ? { object: toExported(object) } : { leftOut };
}

function whyLeftOut(object: KubeObject): string | undefined {
  const { kind, metadata } = object;
  if (metadata.deletionTimestamp) return BEING_DELETED;
  if (kind === "RoleBinding") return isCFRole(object) ? undefined : "no role of CF";
  if (kind === "Secret") return isOwnSecret(object) ? undefined : "no Secret of an exported object";
  const { state } = (object["status"] ?? {}) as { state?: string };
  return FINISHED[kind]?.includes(state ?? "") === false ? UNFINISHED : undefined;
}

function isCFRole({ metadata, ...rest }: KubeObject): boolean {
  const { roleRef } = rest as { roleRef?: { kind?: string; name?: string } };
  if (metadata.labels?.[LABELS.managedBy] !== undefined) return false;
  return roleRef?.kind === "ClusterRole" && findCFRole(roleRef.name ?? "") !== undefined;
}

/** Owned by an exported object, or with a label of ours: others in the namespace are not the platform's to copy. */
function isOwnSecret({ metadata, ...rest }: KubeObject): boolean {
  const { name, namespace, labels = {}, ownerReferences = [] } = metadata;
  if (namespace === SYSTEM_NAMESPACE) return SYSTEM_CREDENTIALS_SECRETS.includes(name);
  if (name === REGISTRY_SECRET || rest["type"] === "kubernetes.io/service-account-token") return false;
  if (ownerReferences.length > 0) return ownerReferences.every(isExportedOwner);
  return Object.keys(labels).some((key) => key.startsWith(`${GROUP}/`));
}

export function isExportedOwner({ apiVersion, kind }: OwnerReference): boolean {
  return apiVersion.startsWith(`${GROUP}/`) && findExportedKind(kind) !== undefined;
}

function toExported(object: KubeObject): KubeObject {
  const { metadata: _metadata, status: _status, ...rest } = object;
  const hasStatus = !NAMESPACE_OWNERS.has(object.kind) && object["status"] !== undefined;
  return {
    ...rest,
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: toMetadata(object),
    ...(hasStatus && { status: object["status"] }),
  };
}

function toMetadata(object: KubeObject): KubeObject["metadata"] {
  const { name, namespace, uid = "", labels = {}, annotations = {}, ownerReferences = [] } = object.metadata;
  // It would make a creator a manager again whose role was taken away since.
  const { [ANNOTATIONS.createdBy]: _creator, [ANNOTATIONS.importing]: _importing, ...kept } = annotations;
  const owners = ownerReferences.filter(isExportedOwner);
  return {
    name,
    ...(namespace !== undefined && { namespace }),
    uid,
    labels: { ...labels, ...toGUIDLabel(object) },
    annotations: { ...kept, ...toOrigin(object) },
    ...(owners.length > 0 && { ownerReferences: owners }),
  };
}

/** Its GUID as the API shows it. A web process without a label shows its app's. */
function toGUIDLabel(object: KubeObject): Record<string, string> {
  if (KUBERNETES_KINDS.has(object.kind) || EVENT_LOGS.has(object.kind) || object.kind === "Process") return {};
  return { [LABELS.guid]: guidOf(object) };
}

function toOrigin(object: KubeObject): Record<string, string> {
  const created = createdTimeOf(object) ?? "";
  const updated = lastWriteOf(object) ?? originalUpdateOf(object) ?? created;
  return {
    [ANNOTATIONS.originalUid]: originalUidOf(object),
    [ANNOTATIONS.originalCreated]: created,
    // CF shows no later change of a role.
    [ANNOTATIONS.originalUpdated]: object.kind === "RoleBinding" ? created : updated,
  };
}
