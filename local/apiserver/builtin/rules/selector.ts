// A selector of labels, wherever one stands: its labels and its expressions.
import type { JsonMap } from "../../apply/values.ts";
import type { FieldError } from "../../types.ts";
import { forbiddenField, invalidValue, required } from "../../field-errors.ts";
import { labelValue, qualifiedName } from "../../registry/names.ts";
import { labelRules, listOf, mapOf, named, textOf } from "./rule.ts";

/** The faults of a selector; a missing one has none. */
export function selectorRules(at: string, selector: unknown): FieldError[] {
  const { matchLabels, matchExpressions } = mapOf(selector);
  return [
    ...labelRules(matchLabels, `${at}.matchLabels`),
    ...listOf(matchExpressions).flatMap((each, index) => expressionRules(`${at}.matchExpressions[${index}]`, each)),
  ];
}

function expressionRules(at: string, { key, operator, values }: JsonMap): FieldError[] {
  const given = Array.isArray(values) ? (values as unknown[]).map(String) : [];
  return [
    ...operatorRules(at, operator, given.length > 0),
    ...named(`${at}.key`, textOf(key), qualifiedName(textOf(key))),
    ...given.flatMap((value, index) => named(`${at}.values[${index}]`, value, labelValue(value))),
  ];
}

function operatorRules(at: string, operator: unknown, hasValues: boolean): FieldError[] {
  if (operator === "In" || operator === "NotIn")
    return hasValues ? [] : [required(`${at}.values`, "must be specified when `operator` is 'In' or 'NotIn'")];
  if (operator === "Exists" || operator === "DoesNotExist")
    return hasValues
      ? [forbiddenField(`${at}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")]
      : [];
  return [invalidValue(`${at}.operator`, operator ?? "", "not a valid selector operator")];
}
