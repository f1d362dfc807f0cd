// All RBAC objects of a cluster, indexed by subject: a change updates one entry, a decision costs two map lookups.
import { LRUCache } from "lru-cache";
import { ruleAllows, ruleCoversResource } from "./match.ts";
import {
  type PolicyRule,
  type AccessAttributes,
  type RbacKind,
  type RbacObject,
  type RbacUser,
  type ResourceAttributes,
  type RoleRef,
  type Subject,
  SUPERUSER_GROUP,
} from "./types.ts";

/** Users with cached rules; the least recently used is recomputed. */
const MAX_CACHED_USERS = 2000;

/** Names of a resource in a namespace on which a user may use a verb. */
export type AllowedNames = "all" | ReadonlySet<string>;

/** A rule that applies to a user, and a description of its binding. */
export interface AppliedRule {
  rule: PolicyRule;
  source: string;
}

/** Rules of a user in a namespace ("" = cluster-wide). `unresolved` lists missing roles that bindings refer to. */
export interface AppliedRules {
  rules: AppliedRule[];
  unresolved: string[];
}

/** An incremental index. Every method is synchronous and answers from memory. */
export interface RbacIndex {
  /** Adds or replaces one object. */
  set(kind: RbacKind, object: RbacObject): void;
  remove(kind: RbacKind, key: { name: string; namespace?: string }): void;
  /** Whether RBAC allows the request (`system:masters` may do anything). A namespaced request is matched against cluster-wide bindings and that namespace's. */
  allows(user: RbacUser, question: AccessAttributes): boolean;
  /** As `allows`, with kube-apiserver's reason, for SubjectAccessReview. */
  explain(user: RbacUser, question: AccessAttributes): { allowed: boolean; reason: string };
  /** Names on which the user may use the verb; the request's `name` is ignored. Cached until RBAC changes. */
  allowedNames(user: RbacUser, question: ResourceAttributes): AllowedNames;
  /** The user's rules in the namespace, cluster-wide ones first; "" returns cluster-wide ones only. */
  rulesFor(user: RbacUser, namespace: string): PolicyRule[];
  /** Namespaces with a RoleBinding for the user or a group of it. Only cluster-wide rules apply elsewhere. */
  namespacesOf(user: RbacUser): string[];
  /** The rules behind a roleRef; undefined when the role does not exist. `namespace` is the binding's, "" for cluster-wide. */
  rulesOf(roleRef: RoleRef, namespace: string): PolicyRule[] | undefined;
  /** Increases with every change, for callers that cache derived values. */
  version(): number;
}

interface Binding {
  namespace: string;
  name: string;
  roleRef: RoleRef;
  subjects: Subject[];
}

/** Cached rules of one user, by namespace. */
interface CachedUser {
  scopes: Map<string, CachedScope>;
}

interface CachedScope {
  clusterVersion: number;
  namespaceVersion: number;
  applied: AppliedRules;
  names: Map<string, AllowedNames>;
}

/** The objects of a namespace (`Role x`, `RoleBinding y`), and the version of its last change. */
interface NamespaceEntry {
  version: number;
  objects: Set<string>;
}

interface State {
  roles: Map<string, PolicyRule[]>;
  bindings: Map<string, Binding>;
  /** Subject key, then namespace ("" = ClusterRoleBinding), then binding keys. */
  bySubject: Map<string, Map<string, Set<string>>>;
  clusterVersion: number;
  /** Only namespaces with a Role or RoleBinding. */
  namespaces: Map<string, NamespaceEntry>;
  changes: number;
  users: LRUCache<string, CachedUser>;
}

/** An empty index. */
export function createRbacIndex(): RbacIndex {
  const state: State = {
    roles: new Map(),
    bindings: new Map(),
    bySubject: new Map(),
    clusterVersion: 0,
    namespaces: new Map(),
    changes: 0,
    users: new LRUCache({ max: MAX_CACHED_USERS }),
  };
  return {
    set: (kind, object) => setObject(state, kind, object),
    remove: (kind, key) => removeObject(state, kind, key),
    allows: (user, question) => allows(state, user, question),
    explain: (user, question) => explain(state, user, question),
    allowedNames: (user, question) => allowedNames(state, user, question),
    rulesFor: (user, namespace) => scopeOf(state, user, namespace).applied.rules.map((one) => one.rule),
    namespacesOf: (user) => namespacesOf(state, user),
    rulesOf: (roleRef, namespace) => state.roles.get(roleKey(roleRef.kind, namespace, roleRef.name)),
    version: () => state.changes,
  };
}

function roleKey(kind: string, namespace: string, name: string): string {
  return kind === "Role" ? `Role ${namespace}/${name}` : `${kind} ${name}`;
}

function bindingKey(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

/** Records a change. Cluster-scoped objects affect every namespace: a RoleBinding may refer to a ClusterRole. */
function recordChange(state: State, namespace: string, change: (objects: Set<string>) => void): void {
  const version = ++state.changes;
  if (namespace === "") {
    state.clusterVersion = version;
    return;
  }
  const objects = state.namespaces.get(namespace)?.objects ?? new Set();
  change(objects);
  if (objects.size > 0) state.namespaces.set(namespace, { version, objects });
  else forgetNamespace(state, namespace);
}

/** Drops cached rules of a namespace without objects, which would stay forever. */
function forgetNamespace(state: State, namespace: string): void {
  state.namespaces.delete(namespace);
  for (const { scopes } of state.users.values()) scopes.delete(namespace);
}

function setObject(state: State, kind: RbacKind, object: RbacObject): void {
  const { name, namespace = "" } = object.metadata;
  if (kind === "Role" || kind === "ClusterRole") state.roles.set(roleKey(kind, namespace, name), object.rules ?? []);
  else
    setBinding(state, {
      namespace,
      name,
      roleRef: object.roleRef ?? { kind: "", name: "" },
      subjects: object.subjects ?? [],
    });
  recordChange(state, namespace, (objects) => objects.add(`${kind} ${name}`));
}

function removeObject(
  state: State,
  kind: RbacKind,
  { name, namespace = "" }: { name: string; namespace?: string },
): void {
  if (kind === "Role" || kind === "ClusterRole") state.roles.delete(roleKey(kind, namespace, name));
  else dropBinding(state, bindingKey(namespace, name));
  recordChange(state, namespace, (objects) => objects.delete(`${kind} ${name}`));
}

function setBinding(state: State, binding: Binding): void {
  const key = bindingKey(binding.namespace, binding.name);
  dropBinding(state, key);
  state.bindings.set(key, binding);
  for (const subject of binding.subjects) {
    const indexKey = subjectKey(subject, binding.namespace);
    if (indexKey === undefined) continue;
    const byNamespace = state.bySubject.get(indexKey) ?? new Map<string, Set<string>>();
    state.bySubject.set(indexKey, byNamespace);
    const keys = byNamespace.get(binding.namespace) ?? new Set();
    byNamespace.set(binding.namespace, keys.add(key));
  }
}

function dropBinding(state: State, key: string): void {
  const binding = state.bindings.get(key);
  if (!binding) return;
  state.bindings.delete(key);
  for (const subject of binding.subjects)
    removeSubjectBinding(state, subjectKey(subject, binding.namespace) ?? "", binding.namespace, key);
}

function removeSubjectBinding(state: State, subject: string, namespace: string, key: string): void {
  const byNamespace = state.bySubject.get(subject);
  const keys = byNamespace?.get(namespace);
  if (!byNamespace || !keys) return;
  keys.delete(key);
  if (keys.size === 0) byNamespace.delete(namespace);
  if (byNamespace.size === 0) state.bySubject.delete(subject);
}

/** The index key of a subject; undefined when no user can match it. A service account is indexed as its user name. */
export function subjectKey(subject: Subject, bindingNamespace: string): string | undefined {
  if (subject.kind === "User") return `u:${subject.name}`;
  if (subject.kind === "Group") return `g:${subject.name}`;
  if (subject.kind !== "ServiceAccount") return undefined;
  const namespace = subject.namespace || bindingNamespace;
  return namespace === "" ? undefined : `u:system:serviceaccount:${namespace}:${subject.name}`;
}

/** Index keys of all subjects that match a user; see `subjectKey`. */
export function userKeys({ name, groups }: Pick<RbacUser, "name" | "groups">): string[] {
  return [`u:${name}`, ...groups.map((group) => `g:${group}`)];
}

/** Cached identity of a user object, which must not change after its first use. */
const identities = new WeakMap<RbacUser, Identity>();

interface Identity {
  keys: string[];
  joined: string;
  superuser: boolean;
}

function identityOf(user: RbacUser): Identity {
  const known = identities.get(user);
  if (known) return known;
  const keys = userKeys(user);
  const identity = { keys, joined: JSON.stringify(keys), superuser: user.groups.includes(SUPERUSER_GROUP) };
  identities.set(user, identity);
  return identity;
}

function keysOf(user: RbacUser): string[] {
  return identityOf(user).keys;
}

function namespacesOf(state: State, user: RbacUser): string[] {
  const namespaces = new Set<string>();
  for (const subject of keysOf(user)) {
    for (const namespace of state.bySubject.get(subject)?.keys() ?? []) if (namespace !== "") namespaces.add(namespace);
  }
  return [...namespaces].sort();
}

/** The cached rules of a user in a namespace, recomputed after RBAC changes. */
function scopeOf(state: State, user: RbacUser, asked: string): CachedScope {
  const namespace = hasBindings(state, user, asked) ? asked : "";
  const identityKey = identityOf(user).joined;
  let cachedUser = state.users.get(identityKey);
  if (!cachedUser) state.users.set(identityKey, (cachedUser = { scopes: new Map() }));
  const namespaceVersion = state.namespaces.get(namespace)?.version ?? 0;
  const known = cachedUser.scopes.get(namespace);
  if (known?.clusterVersion === state.clusterVersion && known.namespaceVersion === namespaceVersion) return known;
  const scope: CachedScope = {
    clusterVersion: state.clusterVersion,
    namespaceVersion,
    applied: computeRules(state, user, namespace),
    names: new Map(),
  };
  cachedUser.scopes.set(namespace, scope);
  return scope;
}

/** A namespace without bindings of the user shares the cluster-wide entry, so entries are as many as bindings. */
function hasBindings(state: State, user: RbacUser, namespace: string): boolean {
  return keysOf(user).some((who) => state.bySubject.get(who)?.has(namespace));
}

function computeRules(state: State, user: RbacUser, namespace: string): AppliedRules {
  const applied: AppliedRules = { rules: [], unresolved: [] };
  for (const scope of namespace === "" ? [""] : ["", namespace]) {
    const keys = new Set(keysOf(user).flatMap((who) => [...(state.bySubject.get(who)?.get(scope) ?? [])]));
    for (const key of [...keys].sort()) appendRules(state, applied, state.bindings.get(key), user);
  }
  return applied;
}

function appendRules(state: State, applied: AppliedRules, binding: Binding | undefined, user: RbacUser): void {
  if (!binding) return;
  const { kind, name } = binding.roleRef;
  const rules = state.roles.get(roleKey(kind, binding.namespace, name));
  if (!rules) {
    applied.unresolved.push(`${kind.toLowerCase()}.rbac.authorization.k8s.io ${JSON.stringify(name)} not found`);
    return;
  }
  const source = describe(binding, user);
  for (const rule of rules) applied.rules.push({ rule, source });
}

/** `RoleBinding "x/ns" of Role "y" to User "z"`, as kube-apiserver prints it. */
function describe(binding: Binding, user: RbacUser): string {
  const own = new Set(keysOf(user));
  const subject = binding.subjects.find((one) => own.has(subjectKey(one, binding.namespace) ?? ""));
  const named =
    binding.namespace === ""
      ? `ClusterRoleBinding "${binding.name}"`
      : `RoleBinding "${binding.name}/${binding.namespace}"`;
  const who =
    subject?.kind === "ServiceAccount" ? `${subject.name}/${subject.namespace || binding.namespace}` : subject?.name;
  return `${named} of ${binding.roleRef.kind} "${binding.roleRef.name}" to ${subject?.kind} "${who}"`;
}

function allows(state: State, user: RbacUser, question: AccessAttributes): boolean {
  if (identityOf(user).superuser) return true;
  if ("path" in question) return scopeOf(state, user, "").applied.rules.some((one) => ruleAllows(one.rule, question));
  const names = allowedNames(state, user, question);
  return names === "all" || names.has(question.name ?? "");
}

function explain(state: State, user: RbacUser, question: AccessAttributes): { allowed: boolean; reason: string } {
  if (identityOf(user).superuser) return { allowed: true, reason: "" };
  const { applied } = scopeOf(state, user, "path" in question ? "" : (question.namespace ?? ""));
  const match = applied.rules.find((one) => ruleAllows(one.rule, question));
  if (match) return { allowed: true, reason: `RBAC: allowed by ${match.source}` };
  const missing = [...new Set(applied.unresolved)];
  if (missing.length === 0) return { allowed: false, reason: "" };
  return { allowed: false, reason: `RBAC: ${missing.length === 1 ? missing[0] : `[${missing.join(", ")}]`}` };
}

function allowedNames(state: State, user: RbacUser, question: ResourceAttributes): AllowedNames {
  if (identityOf(user).superuser) return "all";
  const scope = scopeOf(state, user, question.namespace ?? "");
  const key = `${question.verb} ${question.group} ${question.resource} ${question.subresource ?? ""}`;
  const known = scope.names.get(key);
  if (known !== undefined) return known;
  const names = collectNames(scope.applied.rules, question);
  scope.names.set(key, names);
  return names;
}

function collectNames(rules: AppliedRule[], question: ResourceAttributes): AllowedNames {
  const names = new Set<string>();
  for (const { rule } of rules) {
    if (!ruleCoversResource(rule, question)) continue;
    if (!rule.resourceNames?.length) return "all";
    for (const name of rule.resourceNames) names.add(name);
  }
  return names;
}
