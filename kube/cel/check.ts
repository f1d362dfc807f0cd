// Checks an expression statically: it parses and names only existing fields and functions. Types are known as far as schemas give them; the rest is dynamic.
import type { ASTNode } from "@marcbachmann/cel-js";
import { isFunction, isMethod, isNamespace } from "./functions/registry.ts";
import { variablesOf } from "./macros.ts";
import { CelSyntaxError } from "./compiled.ts";
import { CheckFault, dotOf, located, placeOf } from "./check-fault.ts";
import { compileExpression } from "./program.ts";
import { unescapeField, type ValueShape } from "./values.ts";

/** A shape, or undefined where the type is not known. */
type Known = ValueShape | undefined;

/** A fault in an expression. */
export interface ExpressionFault {
  /** As kube-apiserver words it: `ERROR: <input>:1:6: undefined field 'x'` and the place; or for a wrong type `must evaluate to bool but got string`. */
  message: string;
  /** The expression is valid but has another type than required. */
  isType: boolean;
}

/** The problem of an expression; undefined when there is none. `wanted` is the type that it must have. */
export function checkExpression(
  text: string,
  variables: Record<string, Known>,
  wanted?: "bool" | "string",
): ExpressionFault | undefined {
  try {
    const program = compileExpression(text);
    const type = celType(infer(program.ast, new Map(Object.entries(variables))));
    if (wanted === undefined || type === undefined || type === wanted) return undefined;
    return { isType: true, message: `must evaluate to ${wanted} but got ${type}` };
  } catch (error) {
    if (error instanceof CheckFault) return { isType: false, message: located(text, error.position, error.message) };
    if (error instanceof CelSyntaxError)
      return { isType: false, message: located(text, error.position, error.message) };
    throw error;
  }
}

const celTypes: Record<string, string> = {
  string: "string",
  integer: "int",
  number: "double",
  boolean: "bool",
  array: "list",
  object: "map",
};
const scalars = new Set(["string", "int", "double", "bool"]);
const convertedFormats = new Set(["byte", "date", "date-time", "datetime", "duration"]);

/** The CEL type of a shape, where it is certain. */
function celType(known: Known): string | undefined {
  return known?.type === undefined || convertedFormats.has(known.format ?? "") ? undefined : celTypes[known.type];
}

type Names = Map<string, Known>;
type Infer = (node: ASTNode, names: Names) => Known;

const truth: ValueShape = { type: "boolean" };
const typeNames = new Set([
  "int",
  "uint",
  "double",
  "bool",
  "string",
  "bytes",
  "list",
  "map",
  "null_type",
  "type",
  "optional_type",
  "google",
]);

function infer(node: ASTNode, names: Names): Known {
  const special = inferers[node.op];
  if (special) return special(node, names);
  const types = operands(node.args).map((operand) => infer(operand, names));
  if (sameTypeOperators.has(node.op)) checkOperands(node, types.map(celType));
  return truthOperators.has(node.op) ? truth : undefined;
}

const sameTypeOperators = new Set(["==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%"]);
const orderOperators = new Set(["<", "<=", ">", ">="]);

/** Operators do not convert; only order compares numbers of different kinds. */
function checkOperands(node: ASTNode, [left, right]: (string | undefined)[]): void {
  if (left === undefined || right === undefined || left === right || !scalars.has(left) || !scalars.has(right)) return;
  const numbers = [left, right].every((type) => type === "int" || type === "double");
  if (numbers && orderOperators.has(node.op)) return;
  const [first] = node.args as ASTNode[];
  throw new CheckFault(
    `found no matching overload for '_${node.op}_' applied to '(${left}, ${right})'`,
    node.input.indexOf(node.op, first?.end ?? 0),
  );
}

const truthOperators = new Set(["==", "!=", "<", "<=", ">", ">=", "in", "&&", "||", "!_"]);

function operands(args: unknown): ASTNode[] {
  if (Array.isArray(args)) return args.flatMap(operands);
  return typeof args === "object" && args !== null && "op" in args ? [args as ASTNode] : [];
}

const inferers: Record<string, Infer> = {
  value: (node) => literal(node.args),
  id: (node, names) => inferName(node, names),
  ".": (node, names) => {
    const [target, field] = node.args as [ASTNode, string];
    return inferField(node, infer(target, names), field);
  },
  ".?": (node, names) => {
    const [target, field] = node.args as [ASTNode, string];
    inferField(node, infer(target, names), field);
    return undefined;
  },
  "[]": (node, names) => {
    const [target, key] = node.args as [ASTNode, ASTNode];
    infer(key, names);
    return infer(target, names)?.items;
  },
  "?:": (node, names) => {
    const [condition, yes, no] = (node.args as ASTNode[]).map((one) => infer(one, names));
    checkChoice(node, [condition, yes, no].map(celType));
    return yes === no ? yes : undefined;
  },
  "&&": inferLogical,
  "||": inferLogical,
  list: (node, names) => ({ type: "array", items: inferSame(node.args as ASTNode[], names) }),
  map: (node, names) => {
    const entries = node.args as [ASTNode, ASTNode][];
    inferSame(
      entries.map(([key]) => key),
      names,
    );
    return {
      type: "object",
      items: inferSame(
        entries.map(([, value]) => value),
        names,
      ),
    };
  },
  call: (node, names) => {
    const [name, args] = node.args as [string, ASTNode[]];
    for (const arg of args) infer(arg, names);
    if (name === "has") return truth;
    if (!isFunction(name)) throw unknown(name, node.input.indexOf("(", node.start));
    return name === "string" ? { type: "string" } : undefined;
  },
  rcall: inferMethod,
};

/** Both results of a choice have one type, as far as types are known. */
function checkChoice(node: ASTNode, [condition = "bool", yes = "dyn", no = "dyn"]: (string | undefined)[]): void {
  const agree = yes === no || !scalars.has(yes) || !scalars.has(no);
  if (condition === "bool" && agree) return;
  throw new CheckFault(
    `found no matching overload for '_?_:_' applied to '(${condition}, ${yes}, ${no})'`,
    placeOf(node),
  );
}

function inferLogical(node: ASTNode, names: Names): Known {
  for (const side of node.args as ASTNode[]) expectType(side, "bool", celType(infer(side, names)));
  return truth;
}

/** The type that items, keys or values of a literal share; kube-apiserver refuses literals of several. */
function inferSame(items: ASTNode[], names: Names): Known {
  const known = items.map((item) => infer(item, names));
  const first = known.find((one) => scalars.has(celType(one) ?? ""));
  items.forEach((item, i) => expectType(item, celType(first), celType(known[i])));
  return known.every((one) => celType(one) === celType(first)) ? first : undefined;
}

function expectType(node: ASTNode, wanted: string | undefined, found: string | undefined): void {
  if (wanted === undefined || found === undefined || found === wanted) return;
  throw new CheckFault(`expected type '${wanted}' but found '${found}'`, placeOf(node));
}

const literalTypes: Record<string, string> = {
  boolean: "boolean",
  string: "string",
  bigint: "integer",
  number: "number",
};

function literal(args: unknown): Known {
  const type = literalTypes[typeof args];
  return type === undefined ? undefined : { type };
}

function unknown(name: string, position: number): CheckFault {
  return new CheckFault(`undeclared reference to '${name}' (in container '')`, position);
}

function inferName(node: ASTNode, names: Names): Known {
  const name = node.args as string;
  if (names.has(name)) return names.get(name);
  if (typeNames.has(name)) return undefined;
  throw unknown(name, node.start);
}

function inferField(node: ASTNode, target: Known, field: string): Known {
  if (!target?.property) {
    if (target?.type !== undefined && target.type !== "object")
      throw new CheckFault(`type '${celType(target) ?? target.type}' does not support field selection`, dotOf(node));
    return target?.items;
  }
  const found = target.property(target.escaped ? unescapeField(field) : field);
  if (!found) throw new CheckFault(`undefined field '${field}'`, dotOf(node));
  return found;
}

const textMethods = new Set(["lowerAscii", "upperAscii", "replace", "substring", "trim", "join", "format", "charAt"]);
const truthMethods = new Set([
  "startsWith",
  "endsWith",
  "contains",
  "matches",
  "hasValue",
  "all",
  "exists",
  "exists_one",
  "existsOne",
  "isSorted",
]);

function inferMethod(node: ASTNode, names: Names): Known {
  const [name, receiver, args] = node.args as [string, ASTNode, ASTNode[]];
  if (isQualifier(receiver, names)) return inferQualified(node, names);
  const target = infer(receiver, names);
  const variables = variablesOf(name, args.length);
  if (variables !== undefined) return inferLoop(node, variables, target, names);
  if (!isMethod(name)) throw unknown(name, node.input.indexOf("(", receiver.end));
  for (const arg of args) infer(arg, names);
  return resultOf(name, target);
}

/** A name before a dot that belongs to the function's name. */
function isQualifier(receiver: ASTNode, names: Names): boolean {
  return receiver.op === "id" && !names.has(receiver.args) && isNamespace(receiver.args);
}

function resultOf(method: string, target: Known): Known {
  if (truthMethods.has(method)) return truth;
  return textMethods.has(method) && target?.type !== "array" ? { type: "string" } : undefined;
}

function inferQualified(node: ASTNode, names: Names): Known {
  const [name, receiver, args] = node.args as [string, ASTNode, ASTNode[]];
  const full = `${String(receiver.args)}.${name}`;
  if (!isFunction(full)) throw unknown(full, node.input.indexOf("(", receiver.end));
  for (const arg of args) infer(arg, names);
  return full.startsWith("sets.") ? truth : undefined;
}

/** The loop variable is an item of a list, or a key of an object. */
function inferLoop(node: ASTNode, count: number, target: Known, names: Names): Known {
  const [name, , args] = node.args as [string, ASTNode, ASTNode[]];
  const item = count === 1 && target?.type === "array" ? target.items : undefined;
  const variables = args.slice(0, count).map((variable) => [String(variable.args), item] as const);
  const inner = new Map([...names, ...variables]);
  for (const body of args.slice(count)) infer(body, inner);
  if (name === "filter") return target;
  return truthMethods.has(name) ? truth : undefined;
}
