// In a suspended org only admins may change anything; in a suspended space also managers of its org. A label of the namespace marks both.
import { DEFINITIONS } from "./definitions.ts";
import { INTERNAL_LABELS, SUSPENDED } from "./labels.ts";
import { Org } from "./org/org.ts";
import {
  authorizerAllows,
  CALLER_IS_ADMIN,
  CALLER_IS_PLATFORM,
  EXCEPT_KUBERNETES,
  EXCEPT_PLATFORM,
  toPolicyResource,
  type AdmissionPolicy,
} from "./admission-policy.ts";
import { Space } from "./space/space.ts";

/** Messages of refusals; the CF API recognizes them by these. */
export const ORG_IS_SUSPENDED = "the organization is suspended";
export const SPACE_IS_SUSPENDED = "the space is suspended";

export function suspensionPolicies(): AdmissionPolicy[] {
  return [contentPolicy(), orgPolicy(), spacePolicy()];
}

const limits = {
  group: Space.group,
  resource: Space.plural,
  subresource: "limits",
  namespace: "request.namespace",
  verb: "update",
};

/** Covers everything in the namespaces of a suspended org or space, including roles. The scale subresource needs its own entry. */
function contentPolicy(): AdmissionPolicy {
  const isSpace = `namespaceObject.metadata.labels['${INTERNAL_LABELS.suspended}'] == '${SUSPENDED.space}'`;
  const namespaced = DEFINITIONS.filter((definition) => definition.namespaced);
  return {
    name: "suspended.cupola.dev",
    namespaceLabel: { key: INTERNAL_LABELS.suspended },
    resources: [
      ...namespaced.map((definition) => toPolicyResource(definition)),
      ...namespaced.filter((definition) => definition.scale).map((definition) => toPolicyResource(definition, "scale")),
      { group: "rbac.authorization.k8s.io", plural: "rolebindings" },
    ],
    operations: ["CREATE", "UPDATE", "DELETE"],
    // Apps of a suspended org keep running, so the platform must still write, with fewer permissions than an admin.
    matchConditions: [EXCEPT_KUBERNETES, EXCEPT_PLATFORM],
    variables: [{ name: "isExempt", expression: `${CALLER_IS_ADMIN} || ${CALLER_IS_PLATFORM}` }],
    validations: [
      { expression: `${isSpace} || variables.isExempt`, message: ORG_IS_SUSPENDED, reason: "Forbidden" },
      {
        expression: `!(${isSpace}) || ${authorizerAllows(limits)} || variables.isExempt`,
        message: SPACE_IS_SUSPENDED,
        reason: "Forbidden",
      },
    ],
  };
}

/** Covers the Org itself, which is in no namespace. */
function orgPolicy(): AdmissionPolicy {
  return {
    name: "suspended-orgs.cupola.dev",
    resources: [toPolicyResource(Org)],
    operations: ["UPDATE", "DELETE"],
    matchConditions: [EXCEPT_KUBERNETES],
    validations: [
      {
        expression: `!oldObject.spec.suspended || ${CALLER_IS_ADMIN} || ${CALLER_IS_PLATFORM}`,
        message: ORG_IS_SUSPENDED,
        reason: "Forbidden",
      },
    ],
  };
}

/** Covers the Space itself, which is in its org's namespace: that is not suspended with it. */
function spacePolicy(): AdmissionPolicy {
  return {
    name: "suspended-spaces.cupola.dev",
    resources: [toPolicyResource(Space)],
    operations: ["UPDATE"],
    matchConditions: [EXCEPT_KUBERNETES],
    validations: [
      {
        expression: `!oldObject.spec.suspended || ${authorizerAllows(limits)} || ${CALLER_IS_PLATFORM}`,
        message: SPACE_IS_SUSPENDED,
        reason: "Forbidden",
      },
    ],
  };
}
