// A compiled ValidatingAdmissionPolicy and its decision about a request.
import type { KubeObject } from "../../api/object.ts";
import type { Budget } from "../../cel/compiled.ts";
import { compileExpression, defaultSteps, evaluate, type Program } from "../../cel/program.ts";
import { BudgetError, CelError, type CelValue } from "../../cel/values.ts";
import { evaluateMessage } from "../../cel/message.ts";
import type { Policy, Validation } from "./types.ts";
import { policyVariables, type Lookup } from "./variables.ts";

interface CompiledValidation {
  source: Validation;
  program: Program;
  message: Program | undefined;
}

/** A policy ready to be asked. `broken` says why it cannot be: then it denies, or is ignored, as its failurePolicy says. */
export interface CompiledPolicy {
  policy: Policy;
  conditions: Program[];
  variables: Map<string, Program>;
  validations: CompiledValidation[];
  annotations: { key: string; program: Program }[];
  broken: string | undefined;
}

/** Why a request is not let through. */
export interface Denial {
  message: string;
  /** A Status reason; Invalid unless the validation names another. */
  reason: string;
  /** Index of the validation that fails; undefined where the policy itself is at fault. */
  validation?: number;
}

/** Compiles a policy; never throws. */
export function compilePolicy(policy: Policy): CompiledPolicy {
  const { spec } = policy;
  const compiled: CompiledPolicy = {
    policy,
    conditions: [],
    variables: new Map(),
    validations: [],
    annotations: [],
    broken: undefined,
  };
  try {
    compiled.conditions = (spec.matchConditions ?? []).map((one) => compileExpression(one.expression));
    for (const one of spec.variables ?? []) compiled.variables.set(one.name, compileExpression(one.expression));
    compiled.validations = (spec.validations ?? []).map((source) => ({
      source,
      program: compileExpression(source.expression),
      message: source.messageExpression ? compileExpression(source.messageExpression) : undefined,
    }));
    compiled.annotations = (spec.auditAnnotations ?? []).map((one) => ({
      key: one.key,
      program: compileExpression(one.valueExpression),
    }));
  } catch (error) {
    compiled.broken = error instanceof Error ? error.message : "cannot be compiled";
  }
  return compiled;
}

/** Faults of a policy as it is evaluated are denials unless the policy says to ignore them. */
export function failsOpen(policy: Policy): boolean {
  return policy.spec.failurePolicy === "Ignore";
}

/** Denials of a request by a policy, one for each validation that fails. */
export function evaluatePolicy(compiled: CompiledPolicy, base: Lookup, param: KubeObject | undefined): Denial[] {
  const budget: Budget = { steps: defaultSteps };
  const lookup = policyVariables(base, param, compiled.variables, budget);
  const fault = (message: string): Denial[] => (failsOpen(compiled.policy) ? [] : [{ message, reason: "Invalid" }]);
  try {
    const condition = conditionsHold(compiled.conditions, lookup, budget);
    if (condition instanceof CelError) return fault(condition.message);
    if (!condition) return [];
    return [
      ...compiled.validations.flatMap((validation, index) =>
        evaluateValidation(validation, lookup, budget, fault).map((denial) => ({ ...denial, validation: index })),
      ),
      ...compiled.annotations.flatMap((annotation) => evaluateAnnotation(annotation.program, lookup, budget, fault)),
    ];
  } catch (error) {
    if (!(error instanceof BudgetError)) throw error;
    return fault("validation failed due to running out of cost budget, no further validation rules will be run");
  }
}

/** A condition that is false decides; else one that cannot be evaluated is a fault. */
export function conditionsHold(conditions: Program[], lookup: Lookup, budget: Budget): boolean | CelError {
  let fault: CelError | undefined;
  for (const program of conditions) {
    const outcome = attemptExpression(program, lookup, budget);
    if (outcome instanceof CelError) fault ??= outcome;
    else if (outcome !== true) return false;
  }
  return fault ?? true;
}

function attemptExpression(program: Program, lookup: Lookup, budget: Budget): CelValue | CelError {
  try {
    return evaluate(program, lookup, budget);
  } catch (error) {
    if (!(error instanceof CelError) || error instanceof BudgetError) throw error;
    return new CelError(`expression '${program.text}' resulted in error: ${error.message}`, { cause: error });
  }
}

type Fault = (message: string) => Denial[];

function evaluateValidation(
  { source, program, message }: CompiledValidation,
  lookup: Lookup,
  budget: Budget,
  fault: Fault,
): Denial[] {
  const outcome = attemptExpression(program, lookup, budget);
  if (outcome instanceof CelError) return fault(outcome.message);
  if (outcome === true) return [];
  const own = message && evaluateMessage(message, lookup, budget);
  return [
    {
      message: own ?? (source.message?.trim() || `failed expression: ${source.expression.trim()}`),
      reason: source.reason ?? "Invalid",
    },
  ];
}

/** Annotations are for an audit log, which this server does not keep; only their faults count. */
function evaluateAnnotation(program: Program, lookup: Lookup, budget: Budget, fault: Fault): Denial[] {
  const outcome = attemptExpression(program, lookup, budget);
  return outcome instanceof CelError ? fault(outcome.message) : [];
}
