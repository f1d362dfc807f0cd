// The admission policy on the deletion of PolicyTemplates: their constraints go with them.
import { authorizerAllows, EXCEPT_KUBERNETES, toPolicyResource, type AdmissionPolicy } from "../admission-policy.ts";
import { CONSTRAINTS_GROUP } from "../groups.ts";
import { PolicyTemplate } from "./policy-template.ts";

/** Whoever deletes a template may delete its constraints, too: an author who may not ends no rule. */
export function templateDeletionPolicy(): AdmissionPolicy {
  const mayDelete = authorizerAllows({ group: CONSTRAINTS_GROUP, resource: "*", verb: "delete" });
  return {
    name: "policy-template-deletion.cupola.dev",
    resources: [toPolicyResource(PolicyTemplate)],
    operations: ["DELETE"],
    matchConditions: [EXCEPT_KUBERNETES],
    validations: [
      {
        expression: mayDelete,
        message: `deleting a PolicyTemplate deletes its constraints: it needs the right to delete ${CONSTRAINTS_GROUP}/*, which cupola-policy-admin gives`,
        reason: "Forbidden",
      },
    ],
  };
}
