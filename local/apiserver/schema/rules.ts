// x-kubernetes-validations: runs the CEL rules of a schema over the new and the old object.
import type { FieldError } from "../types.ts";
import { invalidValue } from "../field-errors.ts";
import { namesIn } from "../../../kube/cel/names.ts";
import type { Budget } from "../../../kube/cel/compiled.ts";
import { evaluateMessage } from "../../../kube/cel/message.ts";
import { compileExpression, evaluate, type Program } from "../../../kube/cel/program.ts";
import { BudgetError, CelError, fromJson, some, type CelValue } from "../../../kube/cel/values.ts";
import { noOld, oldField, oldItems, unchanged, type Old } from "./correlate.ts";
import { ruleFault } from "./faults.ts";
import { childPath } from "./lists.ts";
import { rootShape, shapeOf } from "./shape.ts";
import { fieldSchema, isObject, type SchemaNode, type ValidationRule } from "./structural.ts";

interface CompiledRule {
  rule: ValidationRule;
  program: Program;
  message: Program | undefined;
  usesOld: boolean;
}

const compiled = new WeakMap<ValidationRule, CompiledRule>();

function compileRule(rule: ValidationRule): CompiledRule {
  let known = compiled.get(rule);
  if (!known) {
    const program = compileExpression(rule.rule);
    const message = rule.messageExpression ? compileExpression(rule.messageExpression) : undefined;
    known = { rule, program, message, usesOld: namesIn(program.ast).has("oldSelf") };
    compiled.set(rule, known);
  }
  return known;
}

/** Whether a schema has rules anywhere, so that objects without any need no walk. */
export function hasRules(node: SchemaNode | undefined): boolean {
  if (!node) return false;
  const below = [
    node.items,
    node.additionalProperties === true ? undefined : node.additionalProperties,
    ...node.properties.values(),
    ...node.allOf,
  ];
  return node.rules.length > 0 || below.some(hasRules);
}

interface Visit {
  budget: Budget;
  faults: FieldError[];
}

/** Faults of all rules, outermost first. `old` is undefined for a new object: then transition rules do not run. */
export function validateRules(
  object: Record<string, unknown>,
  root: SchemaNode,
  old: Old,
  budget: Budget,
): FieldError[] {
  const visit: Visit = { budget, faults: [] };
  try {
    visitNode({ value: object, node: root, path: "", old, ancestorUnchanged: false, isRoot: true }, visit);
  } catch (error) {
    if (!(error instanceof BudgetError)) throw error;
    visit.faults.push(
      invalidValue(
        "<nil>",
        root.type ?? "object",
        "validation failed due to running out of cost budget, no further validation rules will be run",
      ),
    );
  }
  return visit.faults;
}

interface Place {
  value: unknown;
  node: SchemaNode;
  path: string;
  old: Old;
  /** Whether the nearest part above that can be compared did not change. */
  ancestorUnchanged: boolean;
  isRoot?: boolean;
}

function visitNode(place: Place, visit: Visit): void {
  const { value, node } = place;
  if (value === null || value === undefined) return;
  if (node.rules.length > 0) runRules(place, visit);
  for (const part of node.allOf) visitNode({ ...place, node: part, isRoot: false }, visit);
  if (Array.isArray(value)) visitItems(value, place, visit);
  else if (isObject(value)) visitFields(value, place, visit);
}

/** A part that has no counterpart of its own passes on whether its surroundings changed. */
function below(place: Place): boolean {
  return place.old.known ? unchangedCached(place) : place.ancestorUnchanged;
}

function unchangedCached(place: Place): boolean {
  return hasUncorrelated(place.node) && unchanged(place.value, place.old);
}

/** Under plain lists the nearest comparable part decides whether something changed. */
function hasUncorrelated(node: SchemaNode): boolean {
  return node.items !== undefined && node.listType !== "map";
}

function visitItems(list: unknown[], place: Place, visit: Visit): void {
  const { items } = place.node;
  if (!items || !hasRules(items)) return;
  const before = oldItems(place.node, list, place.old);
  const ancestorUnchanged = below(place);
  list.forEach((value, i) =>
    visitNode({ value, node: items, path: `${place.path}[${i}]`, old: before[i] ?? noOld, ancestorUnchanged }, visit),
  );
}

function visitFields(value: Record<string, unknown>, place: Place, visit: Visit): void {
  const ancestorUnchanged = below(place);
  for (const name of Object.keys(value)) {
    const schema = fieldSchema(place.node, name);
    if (!schema) continue;
    visitNode(
      {
        value: value[name],
        node: schema,
        path: childPath(place.node, place.path, name),
        old: oldField(place.old, name),
        ancestorUnchanged,
      },
      visit,
    );
  }
}

function runRules(place: Place, visit: Visit): void {
  const shape = place.isRoot ? rootShape(place.node) : shapeOf(place.node);
  const self = fromJson(place.value, shape);
  const hasOld = place.old.known && place.old.value !== null && place.old.value !== undefined;
  const oldSelf = hasOld ? fromJson(place.old.value, shape) : undefined;
  for (const rule of place.node.rules) runRule(compileRule(rule), { self, oldSelf }, place, visit);
}

function runRule(
  rule: CompiledRule,
  { self, oldSelf }: { self: CelValue; oldSelf: CelValue | undefined },
  place: Place,
  visit: Visit,
): void {
  const optional = rule.rule.optionalOldSelf === true;
  if (rule.usesOld && oldSelf === undefined && !optional) return;
  const variables = { self, oldSelf: optional ? some(oldSelf) : oldSelf };
  const outcome = attemptRule(rule, variables, visit.budget);
  if (outcome === true) return;
  if (outcome instanceof CelError)
    visit.faults.push(invalidValue(place.path || "<nil>", typeOf(place), describeError(outcome, rule.rule)));
  else if (rule.usesOld || !isRatcheted(place))
    visit.faults.push(faultOf(rule, place, messageOf(rule, variables, visit.budget)));
}

function faultOf({ rule }: CompiledRule, place: Place, message: string): FieldError {
  return ruleFault(faultPath(place.path, rule.fieldPath), typeOf(place), message, rule.reason);
}

function typeOf(place: Place): string {
  return place.node.type ?? "";
}

function attemptRule(
  rule: CompiledRule,
  variables: Record<string, CelValue | undefined>,
  budget: Budget,
): boolean | CelError {
  try {
    return evaluate(rule.program, variables, budget) === true;
  } catch (error) {
    if (error instanceof CelError && !(error instanceof BudgetError)) return error;
    throw error;
  }
}

/** An unchanged part may keep its old faults. */
function isRatcheted(place: Place): boolean {
  return place.old.known ? unchanged(place.value, place.old) : place.ancestorUnchanged;
}

function shown(rule: ValidationRule): string {
  return (rule.message || rule.rule).trim();
}

function describeError(error: CelError, rule: ValidationRule): string {
  if (error.message.startsWith("no such overload")) {
    return `'${error.message}': call arguments did not match a supported operator, function or macro signature for rule: ${shown(rule)}`;
  }
  return `${error.message} evaluating rule: ${shown(rule)}`;
}

/** `.spec.foo` and `['a']` of a rule's fieldPath, behind the path of the node. */
function faultPath(path: string, fieldPath: string | undefined): string {
  if (!fieldPath) return path;
  const rest = fieldPath.replace(/\['((?:[^'\\]|\\.)*)'\]/g, ".$1");
  return path === "" ? rest.replace(/^\./, "") : `${path}${rest.startsWith(".") ? "" : "."}${rest}`;
}

/** The rule's own words: what messageExpression gives when it gives a proper line, else `message`, else the rule. */
function messageOf(rule: CompiledRule, variables: Record<string, CelValue | undefined>, budget: Budget): string {
  const fallback = rule.rule.message ? rule.rule.message.trim() : `failed rule: ${shown(rule.rule)}`;
  if (!rule.message) return fallback;
  return evaluateMessage(rule.message, variables, budget) ?? fallback;
}
