// Puts the constraints of one kind in force as ValidatingAdmissionPolicies, and shows in their status whether they are and which stored objects violate them.
import { constraintId, type Constraint } from "../../crds/policy-template/constraint.ts";
import { rulesInForce } from "../../crds/policy-template/policies.ts";
import { PolicyTemplate } from "../../crds/policy-template/policy-template.ts";
import { ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding } from "../../kube/api/builtin.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { defineController, NotReady, watch, type Controller } from "../../kube/controller/controller.ts";
import type { AuditResult } from "./audit.ts";
import { planConstraint } from "./plan.ts";

/** The stored objects that violate constraints. */
export interface AuditResults {
  /** Undefined until the audit has seen all objects. */
  find(constraint: string): AuditResult | undefined;
  /** Calls `listener` with the id of a constraint whose result changed. Returns the unsubscribe function. */
  onChange(listener: (constraint: string) => void): () => void;
}

/** Its name, by which its policies are labelled. */
export const CONSTRAINT_CONTROLLER = "constraint";

/** The controller of a template's constraints. */
export function constraintController(ref: ResourceRef<Constraint>, audit: AuditResults): Controller {
  const template = ref.kind.toLowerCase();
  return defineController<Constraint>({
    name: CONSTRAINT_CONTROLLER,
    for: ref,
    owns: [ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding],
    watches: [watch(PolicyTemplate, ({ metadata }) => (metadata.name === template ? { [ALL]: ALL } : []))],
    indexes: { [ALL]: () => [ALL] },
    sources: [
      (enqueue, signal) => {
        const stop = audit.onChange((id) => {
          const [kind, name = ""] = id.split("/");
          if (kind === ref.kind) enqueue({ name });
        });
        signal.addEventListener("abort", stop, { once: true });
      },
    ],
    reconcile(constraint, { read, now }) {
      const found = read.find(PolicyTemplate, { name: template });
      const rules = found && rulesInForce(found);
      if (!rules)
        throw new NotReady(
          "TemplateNotReady",
          `PolicyTemplate ${template} has no rules in force; see its Ready condition`,
        );
      const generation = found.status?.inForce?.generation;
      return planConstraint(
        { constraint, rules, generation, audit: audit.find(constraintId(constraint)) },
        read,
        now(),
      );
    },
  });
}

const ALL = "all";
