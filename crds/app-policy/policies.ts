// Admission policy: both sides of an AppPolicy agree, the namespace that it is in by its write, and the source's by this check.
import { authorizerAllows, CALLER_IS_PLATFORM, toPolicyResource, type AdmissionPolicy } from "../admission-policy.ts";
import { AppPolicy } from "./app-policy.ts";

export function appPolicyPolicy(): AdmissionPolicy {
  const right = { group: AppPolicy.group, resource: AppPolicy.plural, verb: "create" };
  return {
    name: "app-policies.cupola.dev",
    resources: [toPolicyResource(AppPolicy)],
    // Its spec never changes.
    operations: ["CREATE"],
    validations: [
      {
        expression: `object.spec.source.namespace == request.namespace || ${authorizerAllows({ ...right, namespace: "object.spec.source.namespace" })} || ${CALLER_IS_PLATFORM}`,
        message: "an AppPolicy needs the right to create one in the namespace of its source, too",
        reason: "Forbidden",
      },
    ],
  };
}
