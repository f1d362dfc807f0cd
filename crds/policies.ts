// Admission policies generated from the permission table: they hold inside the API server, at every door, with every process of ours down.
import type { KubeObject } from "../kube/object.ts";
import type { ResourceDefinition } from "../kube/resource.ts";
import { DEFINITIONS } from "./definitions.ts";
import { STABLE_LABELS, INTERNAL_LABELS, OBSERVE_LABELS } from "./labels.ts";
import { FIELD_RIGHTS } from "./permissions.ts";

const API_VERSION = "admissionregistration.k8s.io/v1";

interface Validation {
  expression: string;
  message?: string;
  messageExpression?: string;
  reason?: "Forbidden" | "Invalid";
}

interface Policy {
  name: string;
  resources: readonly { group: string; plural: string }[];
  operations: readonly string[];
  variables?: { name: string; expression: string }[];
  matchConditions?: { name: string; expression: string }[];
  validations: Validation[];
  /** Act in namespaces with this label only. */
  namespaceLabel?: string;
}

/** Each policy with its binding. */
export function admissionPolicies(): KubeObject[] {
  const policies = [...FIELD_RIGHTS.map((right) => right.on).filter((on, at, all) => all.indexOf(on) === at).map(fieldPolicy), guidPolicy(), bindingPolicy(), suspensionPolicy()];
  return policies.flatMap(toObjects);
}

function toObjects(policy: Policy): KubeObject[] {
  const namespaceSelector = policy.namespaceLabel ? { matchExpressions: [{ key: policy.namespaceLabel, operator: "Exists" }] } : {};
  const resourceRules = [...new Set(policy.resources.map((resource) => resource.group))].map((group) => ({
    apiGroups: [group],
    apiVersions: ["*"],
    operations: [...policy.operations],
    resources: policy.resources.filter((resource) => resource.group === group).map((resource) => resource.plural),
  }));
  return [
    {
      apiVersion: API_VERSION,
      kind: "ValidatingAdmissionPolicy",
      metadata: { name: policy.name },
      spec: {
        failurePolicy: "Fail",
        matchConstraints: { resourceRules, namespaceSelector },
        ...(policy.matchConditions && { matchConditions: policy.matchConditions }),
        ...(policy.variables && { variables: policy.variables }),
        validations: policy.validations,
      },
    },
    { apiVersion: API_VERSION, kind: "ValidatingAdmissionPolicyBinding", metadata: { name: policy.name }, spec: { policyName: policy.name, validationActions: ["Deny"] } },
  ];
}

/** `authorizer` in CEL for one right on the object of the request. Rights by resourceNames are seen only when the name is given. */
function mayDo(on: ResourceDefinition, subresource: string): string {
  // A request for a cluster-scoped object has no namespace, and asking for it would be an error.
  const place = on.namespaced ? ".namespace(request.namespace)" : "";
  return `authorizer.group('${on.group}').resource('${on.plural}').subresource('${subresource}')${place}.name(request.name).check('update').allowed()`;
}

/** Fields that need a right of their own: whoever changes them must hold it. On create every value given counts, but for the default. */
function fieldPolicy(on: ResourceDefinition): Policy {
  const rights = FIELD_RIGHTS.filter((right) => right.on === on);
  return {
    name: `${on.plural}-fields.cupola.dev`,
    resources: [{ group: on.group, plural: on.plural }],
    operations: ["UPDATE"],
    validations: rights.map((right) => ({
      expression: `(${right.fields.map(unchanged).join(" && ")}) || ${mayDo(on, right.subresource)}`,
      message: `changing ${right.fields.map((field) => `spec.${field}`).join(", ")} needs the right to update ${on.plural}/${right.subresource}`,
      reason: "Forbidden",
    })),
  };
}

function unchanged(field: string): string {
  return `(has(object.spec.${field}) == has(oldObject.spec.${field}) && (!has(object.spec.${field}) || object.spec.${field} == oldObject.spec.${field}))`;
}

/** A GUID once given stays. Only the platform, which holds every right on claims, repairs a duplicate. */
function guidPolicy(): Policy {
  const key = `'${STABLE_LABELS.guid}'`;
  const has = (object: string): string => `(has(${object}.metadata.labels) && ${key} in ${object}.metadata.labels)`;
  return {
    name: "guid.cupola.dev",
    resources: DEFINITIONS.map(({ group, plural }) => ({ group, plural })),
    operations: ["UPDATE"],
    validations: [
      {
        expression: `!${has("oldObject")} || (${has("object")} && object.metadata.labels[${key}] == oldObject.metadata.labels[${key}]) || ${isPlatform()}`,
        message: `the label ${STABLE_LABELS.guid} is immutable`,
        reason: "Invalid",
      },
    ],
  };
}

/** The platform's identities are those that may write claims. */
function isPlatform(): string {
  return "authorizer.group('cupola.dev').resource('claims').namespace('cupola-system').check('create').allowed()";
}

/** In our namespaces, those who may bind our roles bind nothing else, and leave the platform's own bindings alone. */
function bindingPolicy(): Policy {
  const managed = `'${OBSERVE_LABELS.managedBy}'`;
  const has = (object: string): string => `(${object} != null && has(${object}.metadata.labels) && ${managed} in ${object}.metadata.labels)`;
  return {
    name: "role-bindings.cupola.dev",
    namespaceLabel: INTERNAL_LABELS.namespaceKind,
    resources: [{ group: "rbac.authorization.k8s.io", plural: "rolebindings" }],
    operations: ["CREATE", "UPDATE", "DELETE"],
    // Deleting the namespace's content is the namespace controller's work.
    matchConditions: [{ name: "not-the-cluster", expression: "!request.userInfo.groups.exists(g, g == 'system:masters' || g == 'system:nodes') && !request.userInfo.username.startsWith('system:serviceaccount:kube-system:') && !request.userInfo.username.startsWith('system:kube-')" }],
    validations: [
      {
        expression: `!(${has("object")} || ${has("oldObject")}) || ${isPlatform()}`,
        message: "this RoleBinding belongs to the platform, which keeps it as the roles of its org and space ask",
        reason: "Forbidden",
      },
    ],
  };
}

/** While an org is suspended only an admin changes anything in it. Its namespaces carry the label. */
function suspensionPolicy(): Policy {
  return {
    name: "suspended-orgs.cupola.dev",
    namespaceLabel: INTERNAL_LABELS.suspended,
    resources: DEFINITIONS.filter((definition) => definition.namespaced).map(({ group, plural }) => ({ group, plural })),
    operations: ["CREATE", "UPDATE", "DELETE"],
    validations: [
      {
        expression: `authorizer.group('cupola.dev').resource('orgs').check('update').allowed() || ${isPlatform()}`,
        message: "the organization is suspended",
        reason: "Forbidden",
      },
    ],
  };
}

