// Puts the constraints of one kind in force as ValidatingAdmissionPolicies, and shows in their status whether they are and which stored objects violate them.
import { actionAt, MAX_VIOLATIONS, type Constraint } from "../../crds/policy-template/constraint.ts";
import { nextExceptionEnd } from "../../crds/policy-template/match-expressions.ts";
import { readParameters } from "../../crds/policy-template/parameters.ts";
import { constraintId, rulesInForce } from "../../crds/policy-template/policies.ts";
import { DIGEST, toConstraintPolicies } from "../../crds/policy-template/policy-objects.ts";
import { PolicyTemplate, type PolicyTemplateSpec } from "../../crds/policy-template/policy-template.ts";
import { toSentence, type Violation } from "../../crds/policy-template/verdict.ts";
import { ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import {
  defineController,
  NotReady,
  watch,
  type ConditionDraft,
  type Controller,
  type ReconcileResult,
} from "../../kube/controller/controller.ts";
import type { AuditResult } from "./audit.ts";

/** A timer of Node.js lasts 24 days at most; an exception that ends later is looked at again then. */
const LONGEST_REQUEUE_MS = 86_400_000;

/** The stored objects that violate constraints. */
export interface AuditResults {
  /** Undefined until the audit has seen all objects. */
  find(constraint: string): AuditResult | undefined;
  /** Calls `listener` with the id of a constraint whose result changed. Returns the unsubscribe function. */
  onChange(listener: (constraint: string) => void): () => void;
}

/** The controller of a template's constraints. */
export function constraintController(ref: ResourceRef<Constraint>, audit: AuditResults): Controller {
  const template = ref.kind.toLowerCase();
  return defineController<Constraint>({
    name: "constraint",
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

export interface ConstraintPlanInput {
  constraint: Constraint;
  rules: PolicyTemplateSpec;
  /** Generation of the template whose rules these are. */
  generation: number | undefined;
  audit: AuditResult | undefined;
}

/** Policies, bindings and status of a constraint. Parameters that do not fit leave what is in force. */
export function planConstraint(input: ConstraintPlanInput, read: Pick<Reader, "find">, now: Date): ReconcileResult {
  const { constraint, rules, generation, audit } = input;
  const parameters = readParameters(rules, constraint.spec.parameters);
  if ("fault" in parameters)
    return {
      ready: {
        status: "False",
        reason: "InvalidParameters",
        message: `${parameters.fault}; what was in force before stays`,
        isFailure: true,
      },
      status: auditStatus(input, now),
    };
  const children = toConstraintPolicies(rules, constraint, now);
  const isStored = children.every((child) => isCurrent(child, read));
  const end = nextExceptionEnd(constraint.spec.match, now);
  return {
    children,
    status: {
      enforced: isStored,
      by: "ValidatingAdmissionPolicy",
      ...(isStored && { templateGeneration: generation }),
      ...auditStatus({ constraint, rules, generation, audit }, now),
    },
    conditions: [enforcedCondition(constraint, isStored)],
    ...(end && { requeueAfterMs: Math.min(end.getTime() - now.getTime(), LONGEST_REQUEUE_MS) }),
  };
}

/** Whether the API server has this version of a policy or binding, as the cache saw it. */
function isCurrent({ kind, metadata }: KubeObject, read: Pick<Reader, "find">): boolean {
  const ref: ResourceRef =
    kind === ValidatingAdmissionPolicy.kind ? ValidatingAdmissionPolicy : ValidatingAdmissionPolicyBinding;
  const stored = read.find(ref, { name: metadata.name });
  return stored !== undefined && stored.metadata.annotations?.[DIGEST] === metadata.annotations?.[DIGEST];
}

function enforcedCondition(constraint: Constraint, isStored: boolean): ConditionDraft {
  if (!isStored)
    return {
      type: "Enforced",
      status: "False",
      reason: "Applying",
      message: "the API server does not have its policies yet",
    };
  const effect = { deny: "are refused", warn: "are warned of", dryrun: "are only counted here" }[
    actionAt(constraint, "write")
  ];
  return {
    type: "Enforced",
    status: "True",
    reason: "InForce",
    message: `the API server judges every write; violations ${effect}`,
  };
}

/** The audit's numbers; `at` changes with them alone, so that an idle platform writes nothing. */
function auditStatus({ constraint, rules, audit }: ConstraintPlanInput, now: Date): Record<string, unknown> {
  if (!audit) return {};
  const violations = audit.violations.slice(0, MAX_VIOLATIONS).map((one) => toEntry(one, rules));
  const before = constraint.status;
  const isSame =
    before?.totalViolations === audit.violations.length &&
    JSON.stringify(before.violations ?? []) === JSON.stringify(violations);
  return {
    audit: isSame && before.audit ? before.audit : { at: `${now.toISOString().slice(0, 19)}Z`, objects: audit.objects },
    totalViolations: audit.violations.length,
    violations,
  };
}

function toEntry({ object, action, ...violation }: Violation, { title }: PolicyTemplateSpec): Record<string, unknown> {
  return {
    kind: object.kind,
    ...(object.namespace !== undefined && { namespace: object.namespace }),
    name: object.name,
    action,
    message: toSentence(title, violation),
  };
}
