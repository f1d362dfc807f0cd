// Admission policies on what the platform's own identities grant: roles of names and rules of theirs, bound where they belong.
import { forbid, ONLY_PLATFORM, type AdmissionPolicy } from "./admission-policy.ts";
import { GROUP, SYSTEM_NAMESPACE } from "./groups.ts";
import { INTERNAL_LABELS, OBSERVE_LABELS } from "./labels.ts";
import { CF_ROLES, ORG_AUDITOR_IN_SPACE, ORG_CREATOR, ORG_MANAGER_IN_SPACE } from "./roles.ts";

const RBAC = "rbac.authorization.k8s.io";
/** Names of roles and bindings that controllers make (generatedName in object-names.ts); none of the chart's ends like this. */
const GENERATED = "^cupola-[a-z0-9-]+-[0-9a-f]{10}$";
const GENERATED_FOR_ORGS = "^cupola-org-[a-z0-9-]+-[0-9a-f]{10}$";
const GENERATED_FOR_GROUPS = "^cupola-security-group-[a-z0-9-]+-[0-9a-f]{10}$";
/** The role of an operation in a space, on Secrets (docs/adr/0017) or on pods, for `cf ssh`. */
const SPACE_ROLES = "^cupola-[a-z-]+-(secrets|exec)$";

export function platformRolePolicies(): AdmissionPolicy[] {
  return [rolePolicy(), bindingPolicy()];
}

const list = (names: readonly string[]): string => `[${names.map((name) => `'${name}'`).join(", ")}]`;

/** `subject` is the object, or the one that is being deleted. */
const SUBJECT = { name: "subject", expression: "object == null ? oldObject : object" };
const IS_IN_CLUSTER = "!has(variables.subject.metadata.namespace)";
const IS_IN_SYSTEM = `variables.subject.metadata.namespace == '${SYSTEM_NAMESPACE}'`;
const IS_LEFT_OVER = `object == null && has(oldObject.metadata.labels) && '${OBSERVE_LABELS.managedBy}' in oldObject.metadata.labels`;
/** The pattern of names where the object is. */
const HAS_OUR_NAME = `${IS_IN_CLUSTER} ? variables.subject.metadata.name.matches('${GENERATED_FOR_ORGS}') : ${IS_IN_SYSTEM} ? variables.subject.metadata.name.matches('${GENERATED_FOR_GROUPS}') : variables.subject.metadata.name.matches('${GENERATED}')`;

/** The platform grants the reading and changing of single objects of its own kinds. */
function rolePolicy(): AdmissionPolicy {
  const kinds = ["spaces", "spacequotas", "domains", "routes", "serviceinstances", "securitygroups"];
  const verbs = ["get", "list", "watch", "update", "patch"];
  const isOurs = (resources: readonly string[]): string =>
    `has(rule.apiGroups) && rule.apiGroups == ['${GROUP}'] && has(rule.resources) && rule.resources.all(resource, resource in ${list(resources)}) && rule.verbs.all(verb, verb in ${list(verbs)})`;
  return {
    name: "platform-roles.cupola.dev",
    resources: ["roles", "clusterroles"].map((plural) => ({ group: RBAC, plural })),
    operations: ["CREATE", "UPDATE", "DELETE"],
    matchConditions: [ONLY_PLATFORM],
    variables: [SUBJECT],
    validations: [
      forbid(
        `(${HAS_OUR_NAME}) || (${IS_LEFT_OVER})`,
        "the platform writes and deletes no roles but those that it derives from orgs, spaces and their contents",
      ),
      forbid(
        `object == null || (!has(object.aggregationRule) && has(object.rules) && object.rules.all(rule, ${IS_IN_CLUSTER} ? ${isOurs(["orgs"])} && has(rule.resourceNames) && size(rule.resourceNames) > 0 : ${isOurs(kinds)}))`,
        `the platform grants the reading and changing of single objects of ${GROUP} only`,
      ),
    ],
  };
}

function bindingPolicy(): AdmissionPolicy {
  const creators = [CF_ROLES.organization_user.clusterRole, CF_ROLES.organization_manager.clusterRole];
  const cfRoles = Object.values(CF_ROLES).map(({ clusterRole }) => clusterRole);
  const kind = `(has(namespaceObject.metadata.labels) && '${INTERNAL_LABELS.namespaceKind}' in namespaceObject.metadata.labels ? namespaceObject.metadata.labels['${INTERNAL_LABELS.namespaceKind}'] : '')`;
  const toRole = `variables.role.kind == 'Role' && (${HAS_OUR_NAME}) && (${IS_IN_SYSTEM} ? variables.role.name.matches('${GENERATED_FOR_GROUPS}') : variables.role.name.matches('${GENERATED}'))`;
  const inSpace = `variables.role.kind == 'ClusterRole' && variables.subject.metadata.name.matches('${GENERATED}') && ${kind} == 'space' && (variables.role.name in ${list([ORG_MANAGER_IN_SPACE, ORG_AUDITOR_IN_SPACE])} || variables.role.name.matches('${SPACE_ROLES}'))`;
  const ofCreator = `oldObject == null && variables.role.kind == 'ClusterRole' && ${kind} == 'org' && variables.role.name in ${list(creators)}`;
  const inCluster = `variables.role.kind == 'ClusterRole' && ((variables.subject.metadata.name.matches('${GENERATED_FOR_ORGS}') && variables.role.name.matches('${GENERATED_FOR_ORGS}')) || (variables.subject.metadata.name == '${ORG_CREATOR}' && variables.role.name == '${ORG_CREATOR}'))`;
  // The roles in a space go with it.
  const isTenants = `object == null && variables.role.kind == 'ClusterRole' && variables.role.name in ${list(cfRoles)} && ${kind} != ''`;
  return {
    name: "platform-bindings.cupola.dev",
    resources: ["rolebindings", "clusterrolebindings"].map((plural) => ({ group: RBAC, plural })),
    operations: ["CREATE", "UPDATE", "DELETE"],
    matchConditions: [ONLY_PLATFORM],
    variables: [SUBJECT, { name: "role", expression: "variables.subject.roleRef" }],
    validations: [
      forbid(
        `(${IS_IN_CLUSTER} ? ${inCluster} : (${toRole}) || (${inSpace}) || (${ofCreator}) || (${isTenants})) || (${IS_LEFT_OVER})`,
        "the platform binds its own roles only, where they belong, and deletes no other bindings",
      ),
    ],
  };
}
