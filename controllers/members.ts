// Who has which role: the subjects of RoleBindings to our ClusterRoles, and the RBAC objects that follow from them. Pure.
import { LABELS } from "../crds/labels.ts";
import { generatedName } from "../crds/names.ts";
import { roleOfClusterRole, type CFRole } from "../crds/roles.ts";
import type { RoleBinding } from "../kube/builtin.ts";
import type { Draft } from "../kube/client/client.ts";
import type { ObjectOf } from "../kube/resource-ref.ts";

const RBAC = "rbac.authorization.k8s.io";
type Binding = ObjectOf<typeof RoleBinding>;
type Subject = NonNullable<Binding["subjects"]>[number];

/** A CF role of a RoleBinding that a person made; undefined for all others, the platform's own among them. */
export function roleOfBinding(binding: Binding): CFRole | undefined {
  if (binding.roleRef?.kind !== "ClusterRole" || binding.metadata.labels?.[LABELS.managedBy] !== undefined) return undefined;
  return roleOfClusterRole(binding.roleRef.name);
}

/** The distinct subjects of these bindings that hold one of the roles (any CF role when left out), in a fixed order. */
export function membersOf(bindings: readonly Binding[], roles?: readonly CFRole[]): Subject[] {
  const found = new Map<string, Subject>();
  for (const binding of bindings) {
    const role = roleOfBinding(binding);
    if (role === undefined || (roles && !roles.includes(role))) continue;
    for (const subject of (binding.subjects ?? []).map((one) => anywhere(one, binding))) found.set(`${subject.kind}\u0000${subject.namespace ?? ""}\u0000${subject.name}`, subject);
  }
  return [...found.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, subject]) => subject);
}

/** A service account that names no namespace is one of its RoleBinding's; elsewhere it would be another, and in a ClusterRoleBinding it is refused. */
function anywhere(subject: Subject, { metadata: { namespace } }: Binding): Subject {
  return subject.kind === "ServiceAccount" && !subject.namespace && namespace ? { ...subject, namespace } : subject;
}

export interface Grant {
  /** Readable start of the name of both objects; `unique` makes it one. */
  name: string;
  unique: string;
  /** Where role and binding live; cluster-wide when left out. */
  namespace?: string;
  rules: readonly { apiGroups: string[]; resources: string[]; verbs: string[]; resourceNames?: string[] }[];
  subjects: readonly Subject[];
}

/** A role and its binding; nothing when nobody is to hold it. */
export function planGrant(grant: Grant): Draft[] {
  if (grant.subjects.length === 0) return [];
  const prefix = grant.namespace ? "" : "Cluster";
  const metadata = { name: generatedName(grant.name, grant.unique), ...(grant.namespace && { namespace: grant.namespace }) };
  return [
    { apiVersion: `${RBAC}/v1`, kind: `${prefix}Role`, metadata, rules: grant.rules },
    bindingTo(`${prefix}Role`, metadata.name, { kind: `${prefix}RoleBinding`, metadata, subjects: grant.subjects }),
  ];
}

/** A platform-owned RoleBinding to one of our ClusterRoles; nothing when nobody is to hold it. */
export function planBinding(clusterRole: string, namespace: string, subjects: readonly Subject[]): Draft[] {
  if (subjects.length === 0) return [];
  return [bindingTo("ClusterRole", clusterRole, { kind: "RoleBinding", metadata: { name: generatedName(clusterRole, namespace), namespace }, subjects })];
}

function bindingTo(kind: string, name: string, binding: { kind: string; metadata: Draft["metadata"]; subjects: readonly Subject[] }): Draft {
  return { apiVersion: `${RBAC}/v1`, ...binding, roleRef: { apiGroup: RBAC, kind, name } };
}
