// Checks that the CEL rules of a schema compile and name existing fields.
import type { FieldError, JsonSchema } from "../types.ts";
import { invalidValue, required } from "../field-errors.ts";
import { checkExpression } from "../../../kube/cel/check.ts";
import type { ValueShape } from "../../../kube/cel/values.ts";
import { rootShape, shapeOf } from "./shape.ts";
import { fieldSchema, readSchema, type SchemaNode, type ValidationRule } from "./structural.ts";

/** Faults of all rules below a schema, with `fieldPath` in front. */
export function checkRules(schema: JsonSchema, fieldPath: string): FieldError[] {
  return checkNode(readSchema(schema), fieldPath, true);
}

function checkNode(node: SchemaNode, path: string, isRoot: boolean): FieldError[] {
  const shape = isRoot ? rootShape(node) : shapeOf(node);
  const faults = node.rules.flatMap((rule, i) =>
    checkRule(rule, node, { path: `${path}.x-kubernetes-validations[${i}]`, shape }),
  );
  for (const [name, property] of node.properties)
    faults.push(...checkNode(property, `${path}.properties[${name}]`, false));
  if (node.items) faults.push(...checkNode(node.items, `${path}.items`, false));
  if (node.additionalProperties && node.additionalProperties !== true)
    faults.push(...checkNode(node.additionalProperties, `${path}.additionalProperties`, false));
  return faults;
}

function checkRule(
  rule: ValidationRule,
  node: SchemaNode,
  { path, shape }: { path: string; shape: ValueShape },
): FieldError[] {
  if (!rule.rule?.trim()) return [required(`${path}.rule`, "rule is not specified")];
  const variables = { self: shape, oldSelf: rule.optionalOldSelf ? undefined : shape };
  const faults = checkTexts(rule, variables, path);
  if (rule.fieldPath && !pathExists(rule.fieldPath, node))
    faults.push(invalidValue(`${path}.fieldPath`, rule.fieldPath, "must be a valid path"));
  return faults;
}

function checkTexts(
  rule: ValidationRule,
  variables: Record<string, ValueShape | undefined>,
  path: string,
): FieldError[] {
  const faults: FieldError[] = [];
  const wrong = checkExpression(rule.rule, variables, "bool");
  if (wrong)
    faults.push(
      ruleInvalid(
        `${path}.rule`,
        rule,
        wrong.isType ? "cel expression must evaluate to a bool" : `compilation failed: ${wrong.message}`,
      ),
    );
  const wrongMessage = rule.messageExpression
    ? checkExpression(rule.messageExpression, variables, "string")
    : undefined;
  if (wrongMessage)
    faults.push(
      ruleInvalid(
        `${path}.messageExpression`,
        rule,
        wrongMessage.isType
          ? "messageExpression must evaluate to a string"
          : `messageExpression compilation failed: ${wrongMessage.message}`,
      ),
    );
  return faults;
}

/** kube-apiserver shows the whole rule as its own type has it, in Go's JSON. */
function ruleInvalid(field: string, rule: ValidationRule, detail: string): FieldError {
  const shown = {
    Rule: rule.rule,
    Message: rule.message ?? "",
    MessageExpression: rule.messageExpression ?? "",
    Reason: rule.reason ?? null,
    FieldPath: rule.fieldPath ?? "",
    OptionalOldSelf: rule.optionalOldSelf ?? null,
  };
  const json = JSON.stringify(shown).replace(/[<>&]/g, (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`);
  return { reason: "FieldValueInvalid", field, message: `Invalid value: ${json}: ${detail}` };
}

/** Whether `.a.b['c']` names fields of the schema. */
function pathExists(fieldPath: string, node: SchemaNode): boolean {
  const names = [...fieldPath.matchAll(/\.([^.[\]]+)|\['((?:[^'\\]|\\.)*)'\]/g)].map(
    (match) => match[1] ?? match[2] ?? "",
  );
  let at: SchemaNode | undefined = node;
  for (const name of names) at = fieldSchema(at, name);
  return names.length > 0 && at !== undefined;
}
