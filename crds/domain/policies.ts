// Admission policy: an internal domain is for all orgs, as in CF. Which domains overlap is decided by the controller (reservations.ts).
import { toPolicyResource, type AdmissionPolicy } from "../admission-policy.ts";
import { SYSTEM_NAMESPACE } from "../groups.ts";
import { Domain } from "./domain.ts";

export function internalDomainPolicy(): AdmissionPolicy {
  return {
    name: "internal-domains.cupola.dev",
    resources: [toPolicyResource(Domain)],
    // Whether a domain is internal never changes.
    operations: ["CREATE"],
    validations: [
      {
        expression: `request.namespace == '${SYSTEM_NAMESPACE}' || !has(object.spec.internal) || !object.spec.internal`,
        message: `an internal domain is shared by all orgs: make it in the namespace ${SYSTEM_NAMESPACE}`,
        reason: "Invalid",
      },
    ],
  };
}
