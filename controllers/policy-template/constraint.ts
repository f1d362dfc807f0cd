// Puts the constraints of one kind in force as ValidatingAdmissionPolicies, and shows in their status whether they are and which stored objects violate them.
import { constraintId, constraintVersion, type Constraint } from "../../crds/policy-template/constraint.ts";
import { rulesInForce } from "../../crds/policy-template/policies.ts";
import { hasReads, PolicyTemplate } from "../../crds/policy-template/policy-template.ts";
import { ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding } from "../../kube/api/builtin.ts";
import { findSubject } from "../../crds/policy-template/subjects.ts";
import { resourceId, type ResourceRef } from "../../kube/api/resource-ref.ts";
import { defineController, NotReady, watch, type Controller } from "../../kube/controller/controller.ts";
import type { Acknowledgement } from "../../kube/lease/replica-acknowledgement.ts";
import type { AuditResult } from "./audit.ts";
import { planConstraint, wasEnforced, type ConstraintPlanInput } from "./plan.ts";

/** The stored objects that violate constraints. */
export interface AuditResults {
  /** Undefined until the audit has seen all objects. */
  find(constraint: string): AuditResult | undefined;
  /** Calls `listener` with the id of a constraint whose result changed. Returns the unsubscribe function. */
  onChange(listener: (constraint: string) => void): () => void;
}

/** The processes that judge by operator policy. */
export interface PolicyReplicas {
  /** Whether all of them have a version of a constraint and can read the kinds (by `plural.group`) of its rules; undefined while that is not known. */
  find(asked: {
    version: string;
    reads: readonly string[];
    wasEnforced: boolean;
  }): Promise<Acknowledgement | undefined>;
  /** Calls `listener` when answers may have changed. Returns the unsubscribe function. */
  onChange(listener: () => void): () => void;
}

/** Its name, by which its policies are labelled. */
export const CONSTRAINT_CONTROLLER = "constraint";

/** The controller of a template's constraints. */
export function constraintController(
  ref: ResourceRef<Constraint>,
  { audit, replicas }: { audit: AuditResults; replicas: PolicyReplicas },
): Controller {
  const template = ref.kind.toLowerCase();
  /** Constraints whose status follows from the replicas. */
  const reading = new Set<string>();
  return defineController<Constraint>({
    name: CONSTRAINT_CONTROLLER,
    for: ref,
    owns: [ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding],
    watches: [watch(PolicyTemplate, ({ metadata }) => (metadata.name === template ? { [ALL]: ALL } : []))],
    indexes: { [ALL]: () => [ALL] },
    sources: [
      followAudit(ref, audit),
      (enqueue, signal) => {
        const tell = (): void => reading.forEach((name) => enqueue({ name }));
        signal.addEventListener("abort", replicas.onChange(tell), { once: true });
      },
    ],
    async reconcile(constraint, { read, now }) {
      const found = read.find(PolicyTemplate, { name: template });
      const rules = found && rulesInForce(found);
      if (!rules)
        throw new NotReady(
          "TemplateNotReady",
          `PolicyTemplate ${template} has no rules in force; see its Ready condition`,
        );
      const generation = found.status?.inForce?.generation;
      const input = { constraint, rules, generation, audit: audit.find(constraintId(constraint)) };
      if (!hasReads(rules)) {
        reading.delete(constraint.metadata.name);
        return planConstraint(input, read, now());
      }
      reading.add(constraint.metadata.name);
      return planConstraint({ ...input, acknowledgement: await askReplicas(input, replicas) }, read, now());
    },
  });
}

/** A source of constraints whose violations changed. */
function followAudit({ kind }: ResourceRef, audit: AuditResults): NonNullable<Controller["sources"]>[number] {
  return (enqueue, signal) => {
    const stop = audit.onChange((id) => {
      const [of, name = ""] = id.split("/");
      if (of === kind) enqueue({ name });
    });
    signal.addEventListener("abort", stop, { once: true });
  };
}

function askReplicas(
  { constraint, rules, generation }: Pick<ConstraintPlanInput, "constraint" | "rules" | "generation">,
  replicas: PolicyReplicas,
): Promise<Acknowledgement | undefined> {
  const reads = (rules.reads ?? []).flatMap(({ kind }) => findSubject(kind) ?? []).map(resourceId);
  return replicas.find({
    version: constraintVersion(constraint, generation),
    reads,
    wasEnforced: wasEnforced(constraint, generation),
  });
}

const ALL = "all";
