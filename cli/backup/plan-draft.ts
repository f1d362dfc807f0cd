// Turns an exported object into what is written to another cluster: other namespaces, owners and generations. Pure.
import { CONTROLLER_FIELD_MANAGER_PREFIX, SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { ANNOTATIONS, isReservedKey, LABELS } from "../../crds/labels.ts";
import { findCFRole } from "../../crds/roles.ts";
import { SPACE_CREDENTIALS_SECRETS, SYSTEM_CREDENTIALS_SECRETS } from "../../crds/service-broker/credentials.ts";
import type { Condition, KubeObject, OwnerReference } from "../../kube/api/object.ts";
import { apiVersionOf } from "../../kube/api/resource-ref.ts";
import type { Draft } from "../../kube/client/client.ts";
import { Failure } from "../failure.ts";
import type { ExportedObject } from "./archive.ts";
import { isExportedOwner } from "./export-object.ts";
import {
  findExportedKind,
  IN_SYSTEM_NAMESPACE,
  KUBERNETES_KINDS,
  NAMESPACE_OWNERS,
} from "../../crds/exported-kinds.ts";

/** Namespaces of orgs and spaces there, by those in the export. */
export type NamespaceMap = ReadonlyMap<string, string>;

const SECRET_TYPES =
  /^(Opaque|kubernetes\.io\/(dockerconfigjson|basic-auth|ssh-auth|tls)|servicebinding\.io\/[-.a-z0-9]+)$/;

/** Refuses an object that no export has, whoever wrote the file. @throws Failure */
export function requireImportable(object: ExportedObject): void {
  const why = findScopeProblem(object) ?? findContentProblem(object);
  if (why !== undefined) throw refused(object, why);
}

function findScopeProblem(object: ExportedObject): string | undefined {
  const { apiVersion, kind, metadata } = object;
  const ref = findExportedKind(kind);
  if (!ref || apiVersion !== apiVersionOf(ref)) return "exports have no such kind";
  if (ref.namespaced !== (metadata.namespace !== undefined)) return "its scope is wrong";
  return metadata.namespace === SYSTEM_NAMESPACE && !mayBeInSystem(object) ? `it is in ${SYSTEM_NAMESPACE}` : undefined;
}

function findContentProblem(object: ExportedObject): string | undefined {
  const { kind, metadata } = object;
  if (metadata.ownerReferences?.some((owner) => !isExportedOwner(owner as OwnerReference)))
    return "its owner is of another kind";
  if (kind === "RoleBinding" && !isRole(object)) return "it binds no role of CF";
  const { type = "Opaque" } = object as { type?: unknown };
  return kind === "Secret" && !SECRET_TYPES.test(String(type)) ? "it is of another type" : undefined;
}

function mayBeInSystem({ kind, metadata }: ExportedObject): boolean {
  return kind === "Secret" ? SYSTEM_CREDENTIALS_SECRETS.includes(metadata.name) : IN_SYSTEM_NAMESPACE.has(kind);
}

function isRole({ metadata, ...rest }: ExportedObject): boolean {
  const { roleRef } = rest as { roleRef?: { kind?: unknown; name?: unknown } };
  if (metadata.labels[LABELS.managedBy] !== undefined || metadata.ownerReferences) return false;
  return roleRef?.kind === "ClusterRole" && findCFRole(String(roleRef.name)) !== undefined;
}

/** @throws Failure when no org or space of the export has the namespace */
export function namespaceOf(object: ExportedObject, namespaces: NamespaceMap): string | undefined {
  const { namespace } = object.metadata;
  if (namespace === undefined || namespace === SYSTEM_NAMESPACE) return namespace;
  const found = namespaces.get(namespace);
  if (found === undefined) throw refused(object, "no org or space of the export has its namespace");
  return found;
}

function refused({ kind, metadata: { name, namespace } }: ExportedObject, why: string): Failure {
  return new Failure(
    `the export has ${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}, which is not imported: ${why}`,
    {
      next: "use a file that cup export wrote",
    },
  );
}

export interface Placed {
  namespace: string | undefined;
  namespaces: NamespaceMap;
  /** Owners there, with the uids of their originals. */
  owners: readonly { reference: OwnerReference; originalUid: string }[];
}

/** The object to create, without its status. */
export function planDraft(object: ExportedObject, { namespace, namespaces, owners }: Placed): Draft {
  const { metadata, status: _status, apiVersion, kind, ...content } = object as ExportedObject & { status?: unknown };
  const isHeld = !NAMESPACE_OWNERS.has(kind) && !KUBERNETES_KINDS.has(kind);
  return {
    apiVersion,
    kind,
    metadata: {
      name: metadata.name,
      ...(namespace !== undefined && { namespace }),
      labels: toLabels(metadata.labels, owners),
      annotations: {
        ...toAnnotations(metadata.annotations, namespaces),
        ...(isHeld && { [ANNOTATIONS.importing]: "true" }),
      },
      ...(owners.length > 0 && { ownerReferences: owners.map(({ reference }) => reference) }),
    },
    ...toContent(object, content, namespaces),
  };
}

/** The label names the owner by its uid. */
function toLabels(labels: Record<string, string>, owners: Placed["owners"]): Record<string, string> {
  const { [LABELS.ownerUid]: uid, ...others } = labels;
  const owner = owners.find(({ originalUid }) => originalUid === uid);
  return { ...others, ...(owner && { [LABELS.ownerUid]: owner.reference.uid }) };
}

/** The annotation names the owner by its key. */
function toAnnotations(annotations: Record<string, string>, namespaces: NamespaceMap): Record<string, string> {
  const { [ANNOTATIONS.owner]: owner, ...others } = annotations;
  if (owner === undefined) return others;
  const [namespace = "", ...rest] = owner.split("/");
  return { ...others, [ANNOTATIONS.owner]: [namespaces.get(namespace) ?? namespace, ...rest].join("/") };
}

function toContent(
  { kind, metadata }: ExportedObject,
  content: Record<string, unknown>,
  namespaces: NamespaceMap,
): Record<string, unknown> {
  if (kind === "Secret" && metadata.namespace === SYSTEM_NAMESPACE && SPACE_CREDENTIALS_SECRETS.includes(metadata.name))
    return { ...content, data: toSpaceCredentials(content["data"], namespaces) };
  if (kind === "RoleBinding" || kind === "Secret") return content;
  const { spec, ...rest } = content;
  // An adopted namespace is chosen by name, and a detached workload stays where it is.
  const { detached: _detached, ...kept } = (spec ?? {}) as Record<string, unknown>;
  return { ...rest, spec: kind === "Space" ? kept : toSpec(kept, namespaces) };
}

/** The list `sharedSpaces` names namespaces, too: a space that the export lacks gets no right there. */
function toSpec({ sharedSpaces, ...spec }: Record<string, unknown>, namespaces: NamespaceMap): Record<string, unknown> {
  return {
    ...(mapNamespaces(spec, namespaces) as Record<string, unknown>),
    ...(Array.isArray(sharedSpaces) && {
      sharedSpaces: sharedSpaces.flatMap((one) => namespaces.get(String(one)) ?? []),
    }),
  };
}

function toSpaceCredentials(data: unknown, namespaces: NamespaceMap): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries((data ?? {}) as Record<string, unknown>).flatMap(([key, value]) => {
      const dot = key.indexOf(".");
      const namespace = namespaces.get(key.slice(0, Math.max(dot, 0)));
      return namespace === undefined ? [] : [[`${namespace}${key.slice(dot)}`, value]];
    }),
  );
}

/** Fields `namespace`, wherever they are. Another name stays: it is the system namespace's, or says nothing of rights (known-places.ts). */
function mapNamespaces(value: unknown, namespaces: NamespaceMap): unknown {
  if (Array.isArray(value)) return value.map((one) => mapNamespaces(one, namespaces));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]: [string, unknown]) => {
      if (key === "namespace") return [key, typeof member === "string" ? (namespaces.get(member) ?? member) : member];
      return [key, mapNamespaces(member, namespaces)];
    }),
  );
}

/** The status, as of this generation; undefined without one. */
export function planStatus(
  { status }: ExportedObject & { status?: unknown },
  { generation }: { generation: number | undefined },
  namespaces: NamespaceMap,
): Record<string, unknown> | undefined {
  if (typeof status !== "object" || status === null) return undefined;
  const { conditions, ...rest } = mapNamespaces(status, namespaces) as { conditions?: Condition[] };
  return {
    ...rest,
    ...("observedGeneration" in rest && { observedGeneration: generation }),
    ...(Array.isArray(conditions) && {
      conditions: conditions.map((one) => ({
        ...one,
        ...("observedGeneration" in one && { observedGeneration: generation }),
      })),
    }),
  };
}

/** A generated object: the part that its controller applies, under the controller's name, and the rest as a merge patch. */
export interface ManagedDraft {
  applied: Draft;
  patch: Record<string, unknown>;
  manager: string;
}

/** An offering or plan: its broker's controller applies all but people's labels and annotations, and who may use a plan. */
export function splitManaged(draft: Draft): ManagedDraft | undefined {
  const { labels = {}, annotations = {}, ...metadata } = draft.metadata;
  const controller = labels[LABELS.managedBy];
  if (controller === undefined || !/^[a-z0-9-]{1,40}$/.test(controller)) return undefined;
  const { visibility, ...spec } = (draft["spec"] ?? {}) as { visibility?: unknown };
  const owner = annotations[ANNOTATIONS.owner];
  return {
    manager: `${CONTROLLER_FIELD_MANAGER_PREFIX}${controller}`,
    applied: {
      ...draft,
      metadata: {
        ...metadata,
        labels: Object.fromEntries(Object.entries(labels).filter(([key]) => isReservedKey(key))),
        annotations: {
          [ANNOTATIONS.importing]: "true",
          ...(owner !== undefined && { [ANNOTATIONS.owner]: owner }),
        },
      },
      spec,
    },
    patch: { metadata: { labels, annotations }, ...(visibility !== undefined && { spec: { visibility } }) },
  };
}

/** Whether an object there is the import of this one. */
export function isImportOf(found: KubeObject, object: ExportedObject): boolean {
  const uid = found.metadata.annotations?.[ANNOTATIONS.originalUid];
  return uid !== undefined && uid === object.metadata.annotations[ANNOTATIONS.originalUid];
}
