// Nobody grants permissions that they lack, unless they may `escalate` the role or `bind` it.
import { isDeepStrictEqual } from "node:util";
import type { KubeObject } from "../../../kube/api/object.ts";
import { compactRules, describeRule, missingRules, quotedList } from "../../../kube/rbac/covers.ts";
import type { PolicyRule, RoleRef } from "../../../kube/rbac/types.ts";
import type { AdmissionRequest, UserInfo } from "../types.ts";
import { forbidden, notFound } from "../status.ts";
import { rbacGroup, rbacResources, type RbacAuthorizer } from "./rbac-authorizer.ts";
import { masters } from "./users.ts";

type Role = KubeObject & { rules?: PolicyRule[] | null; aggregationRule?: unknown };
type Binding = KubeObject & { roleRef: RoleRef };

const fullAuthority: PolicyRule[] = [
  { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
  { verbs: ["*"], nonResourceURLs: ["*"] },
];

/** Checks one write to an RBAC kind. Throws 403 with the rights that are missing, 404 for a binding to a role that is not there. */
export function checkRbacWrite(request: AdmissionRequest, authorizer: RbacAuthorizer): void {
  const kind = rbacResources[request.gvr.resource];
  if (!kind || request.gvr.group !== rbacGroup || !request.object || request.user.groups.includes(masters)) return;
  if (kind === "Role" || kind === "ClusterRole") checkRole(request, request.object, authorizer);
  else checkBinding(request, request.object as Binding, authorizer);
}

function checkRole(request: AdmissionRequest, role: Role, authorizer: RbacAuthorizer): void {
  const old = request.oldObject as Role | undefined;
  const { name } = role.metadata;
  const { resource } = request.gvr;
  // The right to escalate one named role does not cover a create, whose path has no name.
  if (
    isForCollectorOnly(old, role) ||
    may(request, authorizer, { verb: "escalate", resource, name: request.pathName ?? name })
  )
    return;
  const missing = whatIsMissing(request.user, role.rules ?? [], request.namespace, authorizer);
  if (missing !== undefined) throw forbidden({ group: rbacGroup, resource }, name, missing);
  const aggregates = Boolean(role.aggregationRule ?? old?.aggregationRule);
  if (aggregates && whatIsMissing(request.user, fullAuthority, "", authorizer) !== undefined) {
    throw forbidden(
      { group: rbacGroup, resource },
      name,
      "must have cluster-admin privileges to use the aggregationRule",
    );
  }
}

/** Whether only fields of the garbage collector change. Any other change of a role, even of a label, needs the role's permissions. */
function isForCollectorOnly(old: KubeObject | undefined, next: KubeObject): boolean {
  return old !== undefined && isDeepStrictEqual(withoutCollectors(old), withoutCollectors(next));
}

function withoutCollectors(object: KubeObject): unknown {
  const { ownerReferences: _owners, finalizers: _finalizers, managedFields: _fields, ...metadata } = object.metadata;
  // Through JSON, which drops undefined fields.
  return JSON.parse(JSON.stringify({ ...object, apiVersion: undefined, kind: undefined, metadata })) as unknown;
}

function checkBinding(request: AdmissionRequest, binding: Binding, authorizer: RbacAuthorizer): void {
  if (isForCollectorOnly(request.oldObject, binding)) return;
  const { roleRef } = binding;
  const resource = roleRef.kind === "Role" ? "roles" : "clusterroles";
  if (may(request, authorizer, { verb: "bind", resource, name: roleRef.name })) return;
  const rules = authorizer.index.rulesOf(roleRef, request.namespace);
  if (!rules) throw notFound({ group: rbacGroup, resource: request.gvr.resource }, roleRef.name);
  const missing = whatIsMissing(request.user, rules, request.namespace, authorizer);
  if (missing !== undefined)
    throw forbidden({ group: rbacGroup, resource: request.gvr.resource }, binding.metadata.name, missing);
}

function may(
  { user, namespace }: AdmissionRequest,
  { authorize }: RbacAuthorizer,
  on: { verb: string; resource: string; name: string },
): boolean {
  return authorize({ user, group: rbacGroup, version: "*", subresource: "", namespace, ...on }).allowed;
}

function whatIsMissing(
  user: UserInfo,
  rules: PolicyRule[],
  namespace: string,
  authorizer: RbacAuthorizer,
): string | undefined {
  const missing = missingRules(authorizer.index.rulesFor(user, namespace), rules);
  if (missing.length === 0) return undefined;
  const lines = [...new Set(compactRules(missing).map(describeRule))].sort();
  return `user ${JSON.stringify(user.name)} (groups=${quotedList(user.groups)}) is attempting to grant RBAC permissions not currently held:\n${lines.join("\n")}`;
}
