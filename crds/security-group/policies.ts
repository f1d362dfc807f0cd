// An admission policy: whoever may change a space binds only security groups that they may read.
import {
  addedNames,
  authorizerAllows,
  CALLER_IS_PLATFORM,
  toPolicyResource,
  type AdmissionPolicy,
} from "../admission-policy.ts";
import { SYSTEM_NAMESPACE } from "../groups.ts";
import { Space } from "../space/space.ts";
import { SecurityGroup } from "./security-group.ts";

const groupsOf = (object: string): string =>
  `(${object} == null || !has(${object}.spec.securityGroups) ? [] : ${object}.spec.securityGroups.running + ${object}.spec.securityGroups.staging)`;

/** Groups that one write of a manager may add. */
const MAX_ADDED_GROUPS = 8;

export function securityGroupPolicy(): AdmissionPolicy {
  const { variables, allAllowed } = addedNames(groupsOf, {
    most: MAX_ADDED_GROUPS,
    mayAdd: (name) =>
      authorizerAllows({
        group: SecurityGroup.group,
        resource: SecurityGroup.plural,
        namespace: `'${SYSTEM_NAMESPACE}'`,
        name,
        verb: "get",
      }),
  });
  return {
    name: "space-security-groups.cupola.dev",
    resources: [toPolicyResource(Space)],
    operations: ["CREATE", "UPDATE"],
    variables,
    validations: [
      {
        expression: `(size(variables.added) <= ${MAX_ADDED_GROUPS} && ${allAllowed}) || ${CALLER_IS_PLATFORM}`,
        message: `a space's manager adds at most ${MAX_ADDED_GROUPS} SecurityGroups at a time, and only those that apply to all spaces or to another space of theirs`,
        reason: "Forbidden",
      },
    ],
  };
}
