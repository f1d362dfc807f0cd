// A static look at an expression: does it parse, does it name only what exists. Types are followed as far as schemas tell; the rest is dynamic.
import type { ASTNode } from "@marcbachmann/cel-js";
import { isFunction, isMethod, isNamespace } from "./functions/registry.ts";
import { loopMacros } from "./macros.ts";
import { CelSyntaxError, compileExpression } from "./program.ts";
import { unescapeField, type ValueShape } from "./values.ts";

/** A shape, or undefined where the type is not known. */
type Known = ValueShape | undefined;

class CheckFault extends Error {
  readonly node: ASTNode;
  constructor(message: string, node: ASTNode) {
    super(message);
    this.node = node;
  }
}

/** What is wrong with an expression, as `ERROR: <input>:1:6: undefined field 'x'`; undefined when nothing is found. `wanted` is the type it must have. */
export function checkExpression(text: string, variables: Record<string, Known>, wanted?: "bool" | "string"): string | undefined {
  try {
    const program = compileExpression(text);
    const type = infer(program.ast, new Map(Object.entries(variables)))?.type;
    return wanted !== undefined && isOther(type, wanted) ? `must evaluate to ${wanted}` : undefined;
  } catch (error) {
    if (error instanceof CheckFault) return located(text, error.node.start, error.message);
    if (error instanceof CelSyntaxError) return `ERROR: <input>: ${error.message}`;
    throw error;
  }
}

function isOther(type: string | undefined, wanted: "bool" | "string"): boolean {
  return type !== undefined && type !== (wanted === "bool" ? "boolean" : "string");
}

function located(text: string, position: number, message: string): string {
  const before = text.slice(0, position).split("\n");
  const column = before.at(-1)?.length ?? 0;
  return `ERROR: <input>:${before.length}:${column + 1}: ${message}\n | ${text.split("\n")[before.length - 1]}\n | ${".".repeat(column)}^`;
}

type Names = Map<string, Known>;
type Infer = (node: ASTNode, names: Names) => Known;

const truth: ValueShape = { type: "boolean" };
const typeNames = new Set(["int", "uint", "double", "bool", "string", "bytes", "list", "map", "null_type", "type", "google"]);

function infer(node: ASTNode, names: Names): Known {
  const special = inferers[node.op];
  if (special) return special(node, names);
  for (const operand of operands(node.args)) infer(operand, names);
  return truthOperators.has(node.op) ? truth : undefined;
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
    if (condition?.type !== undefined && condition.type !== "boolean") throw new CheckFault("found no matching overload for '_?_:_'", node);
    return yes === no ? yes : undefined;
  },
  call: (node, names) => {
    const [name, args] = node.args as [string, ASTNode[]];
    for (const arg of args) infer(arg, names);
    if (name === "has") return truth;
    if (!isFunction(name)) throw new CheckFault(`undeclared reference to '${name}' (in container '')`, node);
    return name === "string" ? { type: "string" } : undefined;
  },
  rcall: inferMethod,
};

function literal(args: unknown): Known {
  return typeof args === "boolean" || typeof args === "string" ? { type: typeof args } : undefined;
}

function inferName(node: ASTNode, names: Names): Known {
  const name = node.args as string;
  if (names.has(name)) return names.get(name);
  if (typeNames.has(name)) return undefined;
  throw new CheckFault(`undeclared reference to '${name}' (in container '')`, node);
}

function inferField(node: ASTNode, target: Known, field: string): Known {
  if (!target?.property) {
    if (target?.type !== undefined && target.type !== "object") throw new CheckFault(`type '${target.type}' does not support field selection`, node);
    return target?.items;
  }
  const found = target.property(target.escaped ? unescapeField(field) : field);
  if (!found) throw new CheckFault(`undefined field '${field}'`, node);
  return found;
}

const textMethods = new Set(["lowerAscii", "upperAscii", "replace", "substring", "trim", "join", "format", "charAt", "reverse"]);
const truthMethods = new Set(["startsWith", "endsWith", "contains", "matches", "hasValue", "all", "exists", "exists_one", "existsOne", "isSorted"]);

function inferMethod(node: ASTNode, names: Names): Known {
  const [name, receiver, args] = node.args as [string, ASTNode, ASTNode[]];
  if (isQualifier(receiver, names)) return inferQualified(node, names);
  const target = infer(receiver, names);
  if (loopMacros.has(name) && args.length >= 2) return inferLoop(name, args, target, names);
  for (const arg of args) infer(arg, names);
  if (!isMethod(name)) throw new CheckFault(`undeclared reference to '${name}' (in container '')`, node);
  return resultOf(name, target);
}

/** A name before a dot that belongs to the function's name. */
function isQualifier(receiver: ASTNode, names: Names): boolean {
  return receiver.op === "id" && !names.has(receiver.args) && (isNamespace(receiver.args) || receiver.args === "cel");
}

function resultOf(method: string, target: Known): Known {
  if (truthMethods.has(method)) return truth;
  return textMethods.has(method) && target?.type !== "array" ? { type: "string" } : undefined;
}

function inferQualified(node: ASTNode, names: Names): Known {
  const [name, receiver, args] = node.args as [string, ASTNode, ASTNode[]];
  const full = `${String(receiver.args)}.${name}`;
  if (full === "cel.bind" && args[0]?.op === "id" && args[1] && args[2]) return infer(args[2], new Map(names).set(args[0].args, infer(args[1], names)));
  if (!isFunction(full)) throw new CheckFault(`undeclared reference to '${full}' (in container '')`, node);
  for (const arg of args) infer(arg, names);
  return full.startsWith("sets.") ? truth : undefined;
}

/** The loop variable is an item of a list, or a key of an object. */
function inferLoop(name: string, args: ASTNode[], target: Known, names: Names): Known {
  const single = name.startsWith("map") || name.startsWith("opt") || args.length === 2;
  const variables = single ? args.slice(0, 1) : args.slice(0, -1);
  const item = single && target?.type === "array" ? target.items : undefined;
  const inner = new Map([...names, ...variables.map((variable) => [String(variable.args), item] as const)]);
  for (const body of args.slice(variables.length)) infer(body, inner);
  if (name === "filter") return target;
  return truthMethods.has(name) ? truth : undefined;
}
