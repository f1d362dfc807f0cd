// An admission policy: whoever may change a space binds only security groups that they may read.
import { CALLER_IS_PLATFORM, authorizerAllows, toPolicyResource, type AdmissionPolicy } from "../admission-policy.ts";
import { SYSTEM_NAMESPACE } from "../groups.ts";
import { Space } from "../space/space.ts";
import { SecurityGroup } from "./security-group.ts";

const groupsOf = (object: string): string =>
  `(${object} == null || !has(${object}.spec.securityGroups) ? [] : ${object}.spec.securityGroups.running + ${object}.spec.securityGroups.staging)`;

/** One group at a time, since kube-apiserver's cost limit allows few authorizer checks. */
export function securityGroupPolicy(): AdmissionPolicy {
  const mayRead = authorizerAllows({
    group: SecurityGroup.group,
    resource: SecurityGroup.plural,
    namespace: `'${SYSTEM_NAMESPACE}'`,
    name: "variables.added[0]",
    verb: "get",
  });
  return {
    name: "space-security-groups.cupola.dev",
    resources: [toPolicyResource(Space)],
    operations: ["CREATE", "UPDATE"],
    variables: [
      { name: "before", expression: groupsOf("oldObject") },
      { name: "added", expression: `${groupsOf("object")}.filter(name, !(name in variables.before))` },
    ],
    validations: [
      {
        expression: `size(variables.added) == 0 || (size(variables.added) == 1 && ${mayRead}) || ${CALLER_IS_PLATFORM}`,
        message:
          "a space's manager adds one SecurityGroup at a time, and only one that applies to all spaces or to another space of theirs",
        reason: "Forbidden",
      },
    ],
  };
}
