// Plans a PolicyTemplate's CRD, and a constraint's policies and status. Pure.
import { isDeepStrictEqual } from "node:util";
import { actionAt, constraintCRD, MAX_VIOLATIONS, type Constraint } from "../../crds/policy-template/constraint.ts";
import { templateFault } from "../../crds/policy-template/lint.ts";
import { nextExceptionEnd } from "../../crds/policy-template/match-expressions.ts";
import { readParameters } from "../../crds/policy-template/parameters.ts";
import { rulesInForce } from "../../crds/policy-template/policies.ts";
import { DIGEST, toConstraintPolicies } from "../../crds/policy-template/policy-objects.ts";
import { hasReads, type PolicyTemplate, type PolicyTemplateSpec } from "../../crds/policy-template/policy-template.ts";
import { toSentence, type Violation } from "../../crds/policy-template/verdict.ts";
import {
  CustomResourceDefinition,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ObjectOf, ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import type { ConditionDraft, ReadyDraft, ReconcileResult } from "../../kube/controller/controller.ts";
import type { Acknowledgement } from "../../kube/lease/replica-acknowledgement.ts";
import type { AuditResult } from "./audit.ts";

/** A timer of Node.js lasts 24 days at most; an exception that ends later is looked at again then. */
const LONGEST_REQUEUE_MS = 86_400_000;

/** The CRD and the status of a template. */
export function planTemplate(template: PolicyTemplate, read: Pick<Reader, "find">): ReconcileResult {
  const stored = read.find(CustomResourceDefinition, { name: constraintCRD(template).metadata.name });
  const fault = templateFault(template.spec) ?? takenFault(template, stored);
  const spec = fault ? rulesInForce(template) : template.spec;
  const children = spec ? [constraintCRD({ ...template, spec })] : [];
  if (fault)
    return {
      children,
      ready: { status: "False", ...fault, message: inForceNote(fault.message, spec), isFailure: true },
    };
  const inForce = { generation: template.metadata.generation ?? 0, spec: template.spec };
  return { children, status: { inForce }, ...(!isServed(stored) && { ready: KIND_PENDING }) };
}

type StoredCRD = ObjectOf<typeof CustomResourceDefinition>;

const KIND_PENDING: ReadyDraft = {
  status: "False",
  reason: "KindPending",
  message: "waiting until the API server serves the kind of its constraints",
};

function inForceNote(message: string, spec: PolicyTemplate["spec"] | undefined): string {
  return spec ? `${message}; the rules from before stay in force` : message;
}

/** A CRD of the name that somebody else made. */
function takenFault(
  template: PolicyTemplate,
  crd: StoredCRD | undefined,
): { reason: string; message: string } | undefined {
  const owners = crd?.metadata.ownerReferences ?? [];
  if (!crd || owners.some(({ uid }) => uid === template.metadata.uid)) return undefined;
  return {
    reason: "KindTaken",
    message: `the CustomResourceDefinition ${crd.metadata.name} belongs to somebody else; delete it, or name another kind`,
  };
}

function isServed(crd: StoredCRD | undefined): boolean {
  return crd?.status?.conditions?.some(({ type, status }) => type === "Established" && status === "True") ?? false;
}

export interface ConstraintPlanInput {
  constraint: Constraint;
  rules: PolicyTemplateSpec;
  /** Generation of the template whose rules these are. */
  generation: number | undefined;
  audit: AuditResult | undefined;
  /** For rules that read other objects: whether all processes have them. Undefined while that is not known. */
  acknowledgement?: Acknowledgement | undefined;
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
  const end = nextExceptionEnd(constraint.spec.match, now);
  const enforcement = hasReads(rules) ? planReadsEnforcement(input) : planStoredEnforcement(input, children, read);
  return {
    children,
    ...enforcement,
    status: { ...enforcement.status, ...auditStatus({ constraint, rules, generation, audit }, now) },
    ...(end && { requeueAfterMs: Math.min(end.getTime() - now.getTime(), LONGEST_REQUEUE_MS) }),
  };
}

type EnforcementPlan = Required<Pick<ReconcileResult, "status" | "conditions">>;

/** The API server holds rules that look at one object. */
function planStoredEnforcement(
  { constraint, generation }: ConstraintPlanInput,
  policies: readonly KubeObject[],
  read: Pick<Reader, "find">,
): EnforcementPlan {
  const isStored = policies.every((policy) => isCurrent(policy, read));
  return {
    status: {
      enforced: isStored,
      by: "ValidatingAdmissionPolicy",
      ...(isStored && { templateGeneration: generation }),
    },
    conditions: [enforcedCondition(constraint, isStored)],
  };
}

/** Whether every process had the constraint and the rules as they stand now. */
export function wasEnforced({ metadata, status }: Constraint, generation: number | undefined): boolean {
  return (
    status?.enforced === true &&
    status.by === BY_REPLICAS &&
    status.observedGeneration === metadata.generation &&
    status.templateGeneration === generation
  );
}

const BY_REPLICAS = "StartGate";

/** No policy of the API server holds rules that read other objects: the processes of the platform do. */
function planReadsEnforcement({ constraint, generation, acknowledgement }: ConstraintPlanInput): EnforcementPlan {
  const isEnforced = acknowledgement?.enforced ?? wasEnforced(constraint, generation);
  return {
    status: { enforced: isEnforced, by: BY_REPLICAS, ...(isEnforced && { templateGeneration: generation }) },
    conditions: [isEnforced ? gateCondition(constraint) : toWaitingCondition(acknowledgement)],
  };
}

const STARTS = { deny: "held back", warn: "not held back", dryrun: "not held back" };

function gateCondition(constraint: Constraint): ConditionDraft {
  const action = actionAt(constraint, "write");
  const where = action === "dryrun" ? "" : " by the CF API, and past it by the webhook while it runs";
  return {
    type: "Enforced",
    status: "True",
    reason: "InForce",
    message: `every process of the platform judges by it: violations ${EFFECTS[action]}${where}; starts are ${STARTS[actionAt(constraint, "start")]}`,
  };
}

/** The numbers are not in the sentence: it is written once. */
function toWaitingCondition(acknowledgement: Acknowledgement | undefined): ConditionDraft {
  const errors = (acknowledgement?.errors ?? []).slice(0, 5).map(({ replica, error }) => `${replica}: ${error}`);
  if (errors.length > 0)
    return { type: "Enforced", status: "False", reason: "ReplicaFails", message: errors.join("; ").slice(0, 4096) };
  return {
    type: "Enforced",
    status: "False",
    reason: "Applying",
    message:
      "not every process of the platform has it yet: kubectl get replicas -n cupola-system -o yaml shows those that have, in status.policies",
  };
}

/** Whether the API server has this version of a policy or binding, as the cache saw it. */
function isCurrent({ kind, metadata }: KubeObject, read: Pick<Reader, "find">): boolean {
  const ref: ResourceRef =
    kind === ValidatingAdmissionPolicy.kind ? ValidatingAdmissionPolicy : ValidatingAdmissionPolicyBinding;
  const stored = read.find(ref, { name: metadata.name });
  return stored !== undefined && stored.metadata.annotations?.[DIGEST] === metadata.annotations?.[DIGEST];
}

const EFFECTS = { deny: "are refused", warn: "are warned of", dryrun: "are only counted here" };

function enforcedCondition(constraint: Constraint, isStored: boolean): ConditionDraft {
  if (!isStored)
    return {
      type: "Enforced",
      status: "False",
      reason: "Applying",
      message: "the API server does not have its policies yet",
    };
  const effect = EFFECTS[actionAt(constraint, "write")];
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
    (before.audit?.unknown ?? 0) === audit.unknown &&
    // An API server returns members in an order of its own.
    isDeepStrictEqual(before.violations ?? [], violations);
  return {
    audit: isSame && before.audit ? before.audit : toAuditEntry(audit, now),
    totalViolations: audit.violations.length,
    violations,
  };
}

function toAuditEntry({ objects, unknown }: AuditResult, now: Date): Record<string, unknown> {
  return { at: `${now.toISOString().slice(0, 19)}Z`, objects, ...(unknown > 0 && { unknown }) };
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
