// Whether a ValidatingAdmissionPolicy can be stored: its expressions compile and name only what a policy has.
import type { FieldError } from "../types.ts";
import { invalidValue, notSupported, required } from "../field-errors.ts";
import { checkExpression } from "../../../kube/cel/check.ts";
import type { ValueShape } from "../../../kube/cel/values.ts";
import "./authorizer-value.ts"; // declares the authorizer's methods
import type { PolicySpec } from "../../../kube/admission/policy/types.ts";

const names = ["object", "oldObject", "request", "namespaceObject", "authorizer"];

/** Faults of a policy's spec, with kube-apiserver's field paths. */
export function checkPolicy(policy: { spec: PolicySpec }): FieldError[] {
  const { spec } = policy;
  const known: Record<string, ValueShape | undefined> = Object.fromEntries(names.map((name) => [name, undefined]));
  if (spec.paramKind) known["params"] = undefined;
  const conditions = (spec.matchConditions ?? []).flatMap((one, i) =>
    checkOne(one.expression, `spec.matchConditions[${i}].expression`, { ...known, params: undefined }, "bool"),
  );
  const variables = checkVariables(policy, known);
  const all = { ...known, variables: variablesShape(policy) };
  const validations = (spec.validations ?? []).flatMap((one, i) => [
    ...checkOne(one.expression, `spec.validations[${i}].expression`, all, "bool"),
    ...(one.messageExpression
      ? checkOne(one.messageExpression, `spec.validations[${i}].messageExpression`, all, "string")
      : []),
  ]);
  const nothing =
    !spec.validations?.length && !spec.auditAnnotations?.length
      ? ["spec.validations", "spec.auditAnnotations"].map((field) =>
          required(field, "validations or auditAnnotations must contain at least one item"),
        )
      : [];
  return [...nothing, ...conditions, ...variables, ...validations, ...checkReasons(policy)];
}

/** A variable may use those that stand before it. */
function checkVariables({ spec }: { spec: PolicySpec }, known: Record<string, ValueShape | undefined>): FieldError[] {
  const before = new Set<string>();
  return (spec.variables ?? []).flatMap((one, i) => {
    const name = /^[A-Za-z_][A-Za-z0-9_]*$/.test(one.name)
      ? []
      : [invalidValue(`spec.variables[${i}].name`, one.name, "must be a valid CEL identifier")];
    const faults = checkOne(one.expression, `spec.variables[${i}].expression`, {
      ...known,
      variables: shapeOf(new Set(before)),
    });
    before.add(one.name);
    return [...name, ...faults];
  });
}

function variablesShape({ spec }: { spec: PolicySpec }): ValueShape {
  return shapeOf(new Set((spec.variables ?? []).map((one) => one.name)));
}

function shapeOf(fields: ReadonlySet<string>): ValueShape {
  return { type: "object", property: (name) => (fields.has(name) ? {} : undefined) };
}

function checkOne(
  expression: string,
  field: string,
  variables: Record<string, ValueShape | undefined>,
  wanted?: "bool" | "string",
): FieldError[] {
  if (!expression?.trim()) return [required(field, "expression is not specified")];
  const fault = checkExpression(expression, variables, wanted);
  if (!fault) return [];
  return [invalidValue(field, expression, fault.isType ? fault.message : `compilation failed: ${fault.message}`)];
}

const reasons = ["Forbidden", "Invalid", "RequestEntityTooLarge"];

function checkReasons({ spec }: { spec: PolicySpec }): FieldError[] {
  return (spec.validations ?? []).flatMap((one, i) =>
    one.reason === undefined || reasons.includes(one.reason)
      ? []
      : [notSupported(`spec.validations[${i}].reason`, one.reason, reasons)],
  );
}
