// Roles and their subjects: reads RoleBindings to our ClusterRoles and derives RBAC objects from them. Pure.
import { createHash } from "node:crypto";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { LABELS } from "../../crds/labels.ts";
import { generatedName } from "../../crds/object-names.ts";
import { findCFRole, type CFRole } from "../../crds/roles.ts";
import { RoleBinding } from "../../kube/api/builtin.ts";
import type { Draft } from "../../kube/client/client.ts";
import type { ObjectOf } from "../../kube/api/resource-ref.ts";

const RBAC = RoleBinding.group;
/** A subject's name may have some hundred bytes, so this many stay below the API server's size limit. */
const SUBJECTS_PER_BINDING = 1000;

export type RoleBindingObject = ObjectOf<typeof RoleBinding>;
type Subject = NonNullable<RoleBindingObject["subjects"]>[number];

/** The CF role of a user-made RoleBinding; undefined for all others, including the platform's. */
export function findBoundRole(binding: RoleBindingObject): CFRole | undefined {
  if (binding.roleRef?.kind !== "ClusterRole" || binding.metadata.labels?.[LABELS.managedBy] !== undefined)
    return undefined;
  return findCFRole(binding.roleRef.name);
}

/** The distinct subjects of these bindings that hold one of the roles (any CF role by default), in a fixed order. */
export function listSubjects(bindings: readonly RoleBindingObject[], roles?: readonly CFRole[]): Subject[] {
  return uniqueSubjects(
    bindings.filter((binding) => {
      const role = findBoundRole(binding);
      return role !== undefined && (!roles || roles.includes(role));
    }),
  );
}

/** Names of roles that the platform binds in each space for its own operations. */
const SPACE_ROLE = /^cupola-[a-z-]+-(secrets|exec)$/;

/** Is it a binding in the system namespace whose subjects hold another role in each space? */
export function isSpaceRoleBinding({ metadata }: RoleBindingObject): boolean {
  return metadata.namespace === SYSTEM_NAMESPACE && SPACE_ROLE.test(metadata.labels?.[LABELS.spaceRole] ?? "");
}

/** The roles of the platform's operations in a space: whoever runs an operation, by the binding in the system namespace, has its role here. */
export function planOperationBindings(namespace: string, bindings: readonly RoleBindingObject[]): Draft[] {
  const byRole = Map.groupBy(
    bindings.filter(isSpaceRoleBinding),
    ({ metadata }) => metadata.labels?.[LABELS.spaceRole],
  );
  return [...byRole].flatMap(([role, some]) => (role ? planRoleBindings(role, namespace, uniqueSubjects(some)) : []));
}

function uniqueSubjects(bindings: readonly RoleBindingObject[]): Subject[] {
  const found = new Map<string, Subject>();
  for (const binding of bindings)
    for (const subject of (binding.subjects ?? []).map((one) => withNamespace(one, binding)))
      found.set(toSubjectKey(subject), subject);
  return [...found.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, subject]) => subject);
}

function toSubjectKey({ kind, namespace = "", name }: Subject): string {
  return `${kind}\u0000${namespace}\u0000${name}`;
}

/** A service account without a namespace belongs to its RoleBinding's namespace. Copies elsewhere need it spelled out; a ClusterRoleBinding requires it. */
function withNamespace(subject: Subject, { metadata: { namespace } }: RoleBindingObject): Subject {
  return subject.kind === "ServiceAccount" && !subject.namespace && namespace ? { ...subject, namespace } : subject;
}

export interface RoleGrant {
  /** Readable prefix of the objects' names; `unique` makes them unique. */
  name: string;
  unique: string;
  /** Namespace of role and binding; cluster-wide when absent. */
  namespace?: string;
  rules: readonly { apiGroups: string[]; resources: string[]; verbs: string[]; resourceNames?: string[] }[];
  subjects: readonly Subject[];
}

/** A role and its bindings; empty without subjects. */
export function planRoleGrant(grant: RoleGrant): Draft[] {
  const { namespace, rules } = grant;
  if (grant.subjects.length === 0) return [];
  const role = { kind: namespace ? "Role" : "ClusterRole", name: generatedName(grant.name, grant.unique) };
  return [
    {
      apiVersion: `${RBAC}/v1`,
      kind: role.kind,
      metadata: { name: role.name, ...(namespace && { namespace }) },
      rules,
    },
    ...toBindings(role, grant),
  ];
}

/** Platform-owned RoleBindings to one of our ClusterRoles; empty without subjects. */
export function planRoleBindings(clusterRole: string, namespace: string, subjects: readonly Subject[]): Draft[] {
  return toBindings(
    { kind: "ClusterRole", name: clusterRole },
    { name: clusterRole, unique: namespace, namespace, subjects },
  );
}

function toBindings(
  role: { kind: string; name: string },
  { name, unique, namespace, subjects }: Omit<RoleGrant, "rules">,
): Draft[] {
  return shardSubjects(subjects).map((shard, at) => ({
    apiVersion: `${RBAC}/v1`,
    kind: namespace ? "RoleBinding" : "ClusterRoleBinding",
    metadata: { name: generatedName(name, at === 0 ? unique : `${unique}/${at}`), ...(namespace && { namespace }) },
    subjects: shard,
    roleRef: { apiGroup: RBAC, ...role },
  }));
}

/**
 * The API server limits object size, so many subjects are split over several bindings. A subject's hash selects its binding, so a new
 * subject does not move others; the number of bindings doubles when the subjects do.
 */
function shardSubjects(subjects: readonly Subject[]): Subject[][] {
  if (subjects.length <= SUBJECTS_PER_BINDING) return subjects.length === 0 ? [] : [[...subjects]];
  const shards = Array.from(
    { length: 2 ** Math.ceil(Math.log2(subjects.length / SUBJECTS_PER_BINDING)) },
    (): Subject[] => [],
  );
  for (const subject of subjects)
    shards[createHash("sha256").update(toSubjectKey(subject)).digest().readUInt32BE() % shards.length]?.push(subject);
  return shards;
}
