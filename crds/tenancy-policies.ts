// Admission policies on Kubernetes' kinds: RoleBindings, Namespaces and Secrets. All but the Secret policy apply to our namespaces only.
import { Org } from "./org/org.ts";
import { GROUP, SYSTEM_NAMESPACE } from "./groups.ts";
import { INTERNAL_LABELS, OBSERVE_LABELS } from "./labels.ts";
import { IS_MIRRORED_KEY } from "./space/namespace-labels.ts";
import { GRANT_PERMISSION } from "./role-permissions.ts";
import {
  authorizerAllows,
  CALLER_IS_PLATFORM,
  ONLY_PLATFORM,
  EXCEPT_KUBERNETES,
  type AdmissionPolicy,
  type Validation,
} from "./admission-policy.ts";
import { listClusterRoleNames } from "./roles.ts";
import { COPIES_SECRET } from "./work/policies.ts";

const RBAC = "rbac.authorization.k8s.io";

export function tenancyPolicies(): AdmissionPolicy[] {
  return [bindingPolicy(), namespacePolicy(), secretPolicy()];
}

/** Prefix of the names of all bindings that controllers make. */
const PLATFORM_PREFIX = "cupola-";

/** Only the platform changes its bindings. A manager by our roles may bind the CF roles of that org or space, and nothing else. */
function bindingPolicy(): AdmissionPolicy {
  return {
    name: "role-bindings.cupola.dev",
    namespaceLabel: { key: INTERNAL_LABELS.namespaceKind },
    resources: [{ group: RBAC, plural: "rolebindings" }],
    operations: ["CREATE", "UPDATE", "DELETE"],
    matchConditions: [EXCEPT_KUBERNETES],
    variables: [{ name: "role", expression: "object == null ? oldObject.roleRef : object.roleRef" }],
    validations: bindingValidations(),
  };
}

function bindingValidations(): Validation[] {
  const managed = `'${OBSERVE_LABELS.managedBy}'`;
  const has = (object: string): string =>
    `(${object} != null && has(${object}.metadata.labels) && ${managed} in ${object}.metadata.labels)`;
  const list = (names: readonly string[]): string => `[${names.map((name) => `'${name}'`).join(", ")}]`;
  const kind = `namespaceObject.metadata.labels['${INTERNAL_LABELS.namespaceKind}']`;
  const isManager = `${authorizerAllows({ ...GRANT_PERMISSION, namespace: "request.namespace" })} && !${authorizerAllows({ group: RBAC, resource: "rolebindings", verb: "create" })}`;
  const finalizers = (object: string): string =>
    `(has(${object}.metadata.finalizers) ? ${object}.metadata.finalizers : [])`;
  const goesAtOnce = `object == null ? !has(request.options.propagationPolicy) || request.options.propagationPolicy != 'Foreground' : ${finalizers("object")}.all(name, oldObject != null && name in ${finalizers("oldObject")})`;
  const listed = `variables.role.kind == 'ClusterRole' && variables.role.name in (${kind} == 'org' ? ${list(listClusterRoleNames("org"))} : ${list(listClusterRoleNames("space"))})`;
  return [
    {
      expression: `!(${has("object")} || ${has("oldObject")}) || ${CALLER_IS_PLATFORM}`,
      message: "this RoleBinding belongs to the platform, which derives it from the roles in the org and its spaces",
      reason: "Forbidden",
    },
    {
      expression: `(${listed}) || !(${isManager})`,
      message:
        "a manager of an org or a space may bind, change and unbind only the ClusterRoles of the CF roles that exist there",
      reason: "Forbidden",
    },
    {
      // A finalizer would keep a revoked role in force, and so would a foreground deletion that waits for objects that the binding owns.
      expression: `(${goesAtOnce}) || !(${isManager})`,
      message:
        "a manager may not add a finalizer to a RoleBinding or delete one in the foreground: RBAC honours the binding until it is gone",
      reason: "Forbidden",
    },
    {
      // A manager's binding must not block the name of one that the platform makes later: a roleRef cannot be changed.
      expression: `oldObject != null || !object.metadata.name.startsWith('${PLATFORM_PREFIX}') || !(${isManager})`,
      message: "RoleBinding names that begin with cupola- are reserved for the platform here; choose another name",
      reason: "Forbidden",
    },
  ];
}

/**
 * Our labels on a namespace record its owner and mirror the labels of its org and space, by which policies select. So only the platform changes
 * them, except the consent to adoption. There is no namespace selector: it would match only the new labels, and so miss the removal of ours.
 */
function namespacePolicy(): AdmissionPolicy {
  const ours = (object: string): string =>
    `(${object} == null || !has(${object}.metadata.labels) ? [] : ${object}.metadata.labels.map(key, ${IS_MIRRORED_KEY} || (key.startsWith('${GROUP}/') && key != '${INTERNAL_LABELS.adoptableBy}'), key))`;
  const same = (key: string): string =>
    `${key} in object.metadata.labels && object.metadata.labels[${key}] == oldObject.metadata.labels[${key}]`;
  return {
    name: "namespace-labels.cupola.dev",
    // A namespace's labels can also be written through its subresources.
    resources: ["namespaces", "namespaces/status", "namespaces/finalize"].map((plural) => ({ group: "", plural })),
    operations: ["CREATE", "UPDATE"],
    matchConditions: [EXCEPT_KUBERNETES],
    variables: [
      { name: "before", expression: ours("oldObject") },
      { name: "after", expression: ours("object") },
    ],
    validations: [
      {
        expression: `(size(variables.before) == size(variables.after) && variables.before.all(key, ${same("key")})) || ${CALLER_IS_PLATFORM} || ${authorizerAllows({ group: Org.group, resource: Org.plural, verb: "update" })}`,
        message: `labels of cupola.dev mark the owner of a namespace, those of org.cupola.dev and space.cupola.dev mirror the labels of its org and space, and only the platform changes them; to let an org adopt the namespace, set ${INTERNAL_LABELS.adoptableBy}`,
        reason: "Forbidden",
      },
    ],
  };
}

/**
 * RBAC gives the platform access to Secrets in the namespaces of spaces (docs/adr/0017). This policy restricts its writes to its own namespaces even where an
 * operator granted more; an admission policy cannot restrict reads.
 */
function secretPolicy(): AdmissionPolicy {
  return {
    name: "platform-secrets.cupola.dev",
    resources: [{ group: "", plural: "secrets" }],
    operations: ["CREATE", "UPDATE", "DELETE"],
    matchConditions: [ONLY_PLATFORM],
    validations: [
      {
        expression: `request.namespace == '${SYSTEM_NAMESPACE}' || (has(namespaceObject.metadata.labels) && '${INTERNAL_LABELS.namespaceKind}' in namespaceObject.metadata.labels) || ${COPIES_SECRET}`,
        message: `the platform writes Secrets in its own namespaces only: ${SYSTEM_NAMESPACE}, those of orgs and spaces, and copies in those of clusters of mode pull`,
        reason: "Forbidden",
      },
      {
        // Kubernetes would fill such a Secret with a token of any account of the namespace, the platform's other ones included.
        expression: "object == null || !has(object.type) || object.type != 'kubernetes.io/service-account-token'",
        message: "the platform makes no Secrets with tokens of service accounts",
        reason: "Forbidden",
      },
    ],
  };
}
