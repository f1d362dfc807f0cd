// An admission policy: whoever may change a space binds only security groups that they may read.
import { CALLER_IS_PLATFORM, authorizerAllows, toPolicyResource, type AdmissionPolicy } from "../admission-policy.ts";
import { SYSTEM_NAMESPACE } from "../groups.ts";
import { Space } from "../space/space.ts";
import { SecurityGroup } from "./security-group.ts";

const groupsOf = (object: string): string =>
  `(${object} == null || !has(${object}.spec.securityGroups) ? [] : ${object}.spec.securityGroups.running + ${object}.spec.securityGroups.staging)`;

/** Groups that one write of a manager may add. */
const MAX_ADDED_GROUPS = 8;

export function securityGroupPolicy(): AdmissionPolicy {
  const mayRead = (at: number): string =>
    authorizerAllows({
      group: SecurityGroup.group,
      resource: SecurityGroup.plural,
      namespace: `'${SYSTEM_NAMESPACE}'`,
      name: `variables.added[${at}]`,
      verb: "get",
    });
  const checks = Array.from({ length: MAX_ADDED_GROUPS }, (_none, at) => ({
    name: `may${at}`,
    expression: `size(variables.added) <= ${at} || ${mayRead(at)}`,
  }));
  return {
    name: "space-security-groups.cupola.dev",
    resources: [toPolicyResource(Space)],
    operations: ["CREATE", "UPDATE"],
    variables: [
      { name: "before", expression: groupsOf("oldObject") },
      { name: "added", expression: `${groupsOf("object")}.filter(name, !(name in variables.before))` },
      // Each is an expression of its own: the cost limit of one allows two checks.
      ...checks,
    ],
    validations: [
      {
        expression: `(size(variables.added) <= ${MAX_ADDED_GROUPS} && ${checks.map(({ name }) => `variables.${name}`).join(" && ")}) || ${CALLER_IS_PLATFORM}`,
        message: `a space's manager adds at most ${MAX_ADDED_GROUPS} SecurityGroups at a time, and only those that apply to all spaces or to another space of theirs`,
        reason: "Forbidden",
      },
    ],
  };
}
