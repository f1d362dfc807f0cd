// Expressions: parsed by the library, compiled to closures once, evaluated under a budget.
// The library's own evaluator is not used: it compares maps by the type of their first entry, gives `matches` a backtracking engine, and cannot be bounded.
import { Environment, ParseError, type ASTNode } from "@marcbachmann/cel-js";
import { LRUCache } from "lru-cache";
import { callFunction, callMethod, isNamespace } from "./functions/registry.ts";
import { attempt, CelSyntaxError, requireBool, spend, type Budget, type Compiled } from "./compiled.ts";
import { compileMacro } from "./macros.ts";
import { lookUp, select, selectOptional } from "./select.ts";
import { binaryOperators, unaryOperators } from "./operators.ts";
import { CelError, isList, kindOf, mapOf, UnsignedInt, type CelOptional, type CelValue } from "./values.ts";

/** Default budget of a request. */
export const defaultSteps = 2_000_000;

/** A compiled expression. Evaluate it with `evaluate`. */
export interface Program {
  text: string;
  ast: ASTNode;
  run: Compiled;
}

const parser = new Environment({
  enableOptionalTypes: true,
  unlistedVariablesAreDyn: true,
  homogeneousAggregateLiterals: false,
});
const programs = new LRUCache<string, Program>({ max: 5000 });

/** Parses and compiles, remembering the most recent 5000 expressions. Throws CelSyntaxError. */
export function compileExpression(text: string): Program {
  const known = programs.get(text);
  if (known) return known;
  const ast = parse(text);
  const program: Program = { text, ast, run: compile(ast) };
  programs.set(text, program);
  return program;
}

function parse(text: string): ASTNode {
  try {
    return parser.parse(text).ast;
  } catch (cause) {
    if (!(cause instanceof ParseError)) throw cause;
    throw new CelSyntaxError(`Syntax error: ${cause.summary}`, { position: cause.range?.start ?? 0, cause });
  }
}

/** Evaluates with variables by name. Throws CelError, BudgetError when the budget is spent. */
export function evaluate(
  program: Program,
  variables: Record<string, CelValue | undefined> | ((name: string) => CelValue | undefined),
  budget: Budget = { steps: defaultSteps },
): CelValue {
  const find =
    typeof variables === "function"
      ? variables
      : (name: string) => (Object.hasOwn(variables, name) ? variables[name] : undefined);
  return program.run({ find, budget });
}

/** A node to a closure. */
function compile(node: ASTNode): Compiled {
  const binary = binaryOperators[node.op];
  if (binary) return compileBinary(binary, node.args as [ASTNode, ASTNode]);
  const unary = unaryOperators[node.op];
  if (unary) return compileUnary(unary, node.args as ASTNode);
  const compiler = compilers[node.op];
  if (!compiler) throw new CelSyntaxError(`unsupported syntax: ${node.op}`);
  return compiler(node);
}

function compileBinary(apply: (a: CelValue, b: CelValue) => CelValue, args: [ASTNode, ASTNode]): Compiled {
  const [left, right] = args.map(compile) as [Compiled, Compiled];
  return (scope) => apply(left(scope), right(scope));
}

function compileUnary(apply: (a: CelValue) => CelValue, arg: ASTNode): Compiled {
  const operand = compile(arg);
  return (scope) => apply(operand(scope));
}

const typeNames = [
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
];

const compilers: Record<string, (node: ASTNode) => Compiled> = {
  value: (node) => {
    const literal = literalOf(node);
    return () => literal;
  },
  id: (node) => compileName(node.args as string),
  ".": (node) => {
    const [operand, field] = node.args as [ASTNode, string];
    const protobuf = dottedName(node);
    if (protobuf?.startsWith("google.protobuf.")) return () => ({ celKind: "type", type: protobuf });
    const target = compile(operand);
    return (scope) => select(target(scope), field);
  },
  ".?": (node) => {
    const [operand, field] = node.args as [ASTNode, string];
    const target = compile(operand);
    return (scope) => selectOptional(target(scope), field);
  },
  "[]": (node) => {
    const [target, key] = (node.args as [ASTNode, ASTNode]).map(compile) as [Compiled, Compiled];
    return (scope) => select(target(scope), key(scope));
  },
  "[?]": (node) => {
    const [target, key] = (node.args as [ASTNode, ASTNode]).map(compile) as [Compiled, Compiled];
    return (scope) => selectOptional(target(scope), key(scope));
  },
  list: (node) => {
    const items = (node.args as ASTNode[]).map(compile);
    return (scope) => items.map((item) => item(scope));
  },
  map: (node) => {
    const entries = (node.args as [ASTNode, ASTNode][]).map((entry) => entry.map(compile) as [Compiled, Compiled]);
    return (scope) => mapOf(entries.map(([key, value]) => [key(scope), value(scope)] as const));
  },
  "?:": (node) => {
    const [condition, yes, no] = (node.args as [ASTNode, ASTNode, ASTNode]).map(compile) as [
      Compiled,
      Compiled,
      Compiled,
    ];
    return (scope) => (requireBool(condition(scope)) ? yes(scope) : no(scope));
  },
  "&&": (node) => compileLogical(node.args as [ASTNode, ASTNode], false),
  "||": (node) => compileLogical(node.args as [ASTNode, ASTNode], true),
  call: (node) => compileCall(node),
  rcall: (node) => compileMethod(node),
};

/** The library has a class of its own for uint literals, which holds a bigint. */
function literalOf(node: ASTNode): CelValue {
  const args = node.args as unknown;
  if (args instanceof Uint8Array) return bytesOf(node);
  if (typeof args !== "object" || args === null) return args as CelValue;
  return new UnsignedInt(BigInt(args.valueOf() as bigint));
}

/** Letters of a bytes literal stand for their UTF-8. The library keeps the lowest byte of each, so it gets them escaped. */
function bytesOf(node: ASTNode): CelValue {
  const source = node.input.slice(node.start, node.end);
  const escaped = source.replace(/[^\0-\x7f]+/g, (letters) =>
    Buffer.from(letters).toString("hex").replace(/../g, "\\x$&"),
  );
  return (escaped === source ? node : parse(escaped)).args as CelValue;
}

function compileName(name: string): Compiled {
  const type: CelValue | undefined = typeNames.includes(name) ? { celKind: "type", type: name } : undefined;
  return (scope) => {
    const found = scope.find(name); // null is a value
    const value = found === undefined ? type : found;
    if (value === undefined) throw new CelError(`no such attribute(s): ${name}`);
    return value;
  };
}

/** `a.b.c` when a node is nothing but names. */
function dottedName(node: ASTNode): string | undefined {
  if (node.op === "id") return node.args;
  if (node.op !== ".") return undefined;
  const [operand, field] = node.args;
  const before = dottedName(operand);
  return before === undefined ? undefined : `${before}.${field}`;
}

/** `&&` and `||`: either side may decide, and then a fault of the other does not count. */
function compileLogical(args: [ASTNode, ASTNode], decisive: boolean): Compiled {
  const [left, right] = args.map(compile) as [Compiled, Compiled];
  return (scope) => {
    const first = attempt(left, scope);
    if (first === decisive) return decisive;
    const second = attempt(right, scope);
    if (second === decisive) return decisive;
    if (first instanceof Error) throw first;
    if (second instanceof Error) throw second;
    return !decisive;
  };
}

function compileCall(node: ASTNode): Compiled {
  const [name, args] = node.args as [string, ASTNode[]];
  if (name === "has") return compileHas(args[0]);
  const compiled = args.map(compile);
  return (scope) => {
    const values = compiled.map((arg) => arg(scope));
    spend(scope.budget, costOf(values));
    return callFunction(name, values);
  };
}

function compileHas(arg: ASTNode | undefined): Compiled {
  if (arg?.op !== "." && arg?.op !== ".?") throw new CelSyntaxError("invalid argument to has() macro");
  const [operand, field] = arg.args;
  const target = compile(operand);
  return (scope) => {
    const value = target(scope);
    const inner = kindOf(value) === "optional" ? (value as CelOptional).value : value;
    return inner !== undefined && lookUp(inner, field) !== undefined;
  };
}

function compileMethod(node: ASTNode): Compiled {
  const [name, receiver, args] = node.args as [string, ASTNode, ASTNode[]];
  const macro = compileMacro(name, [receiver, ...args], compile);
  if (macro) return macro;
  const compiled = args.map(compile);
  if (receiver.op === "id" && isNamespace(receiver.args))
    return compileQualified(`${receiver.args}.${name}`, receiver.args, compiled);
  const target = compile(receiver);
  return (scope) => {
    const self = target(scope);
    const values = compiled.map((arg) => arg(scope));
    spend(scope.budget, costOf([self, ...values]));
    return callMethod(name, self, values);
  };
}

/** `sets.contains(a, b)`: a function with a dotted name, unless a variable has the name before the dot. */
function compileQualified(full: string, namespace: string, args: Compiled[]): Compiled {
  return (scope) => {
    const shadow = scope.find(namespace);
    const values = args.map((arg) => arg(scope));
    spend(scope.budget, costOf(values));
    return shadow === undefined
      ? callFunction(full, values)
      : callMethod(full.slice(namespace.length + 1), shadow, values);
  };
}

function costOf(values: CelValue[]): number {
  let cost = 1;
  for (const value of values) {
    if (typeof value === "string") cost += value.length >> 4;
    else if (isList(value)) cost += value.length;
  }
  return cost;
}
