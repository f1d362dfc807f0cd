// The macros that loop or bind a name: all, exists, exists_one, map, filter, bind, optMap, optFlatMap.
import type { ASTNode } from "@marcbachmann/cel-js";
import { CelSyntaxError, attempt, requireBool, spend, type Compiled, type Scope } from "./compiled.ts";
import { CelError, isList, isMap, kindOf, none, some, typeName, type CelOptional, type CelValue } from "./values.ts";

/** Compiles one node of the expression that the macro stands in. */
type Compile = (node: ASTNode) => Compiled;

/** A closure for the call `receiver.name(…args)` when it is a macro, else undefined. */
export function compileMacro(
  name: string,
  [receiver, ...args]: [ASTNode, ...ASTNode[]],
  compile: Compile,
): Compiled | undefined {
  if (name === "bind" && receiver.op === "id" && receiver.args === "cel") return compileBind(args, compile);
  if (name in optionalMacros && args.length === 2)
    return compileOptional(name as keyof typeof optionalMacros, { receiver, args, compile });
  const loop = loops[name];
  if (!loop || args.length < 2 || args.length > 3) return undefined;
  return loop(compile(receiver), args, compile);
}

type Loop = (range: Compiled, args: ASTNode[], compile: Compile) => Compiled;

const loops: Record<string, Loop> = {
  all: quantifier(false),
  exists: quantifier(true),
  exists_one: countOne,
  existsOne: countOne,
  filter: filterLoop,
  map: mapLoop,
};

/** Names of the macros that bind their first argument as a variable. */
export const loopMacros: ReadonlySet<string> = new Set([...Object.keys(loops), "optMap", "optFlatMap"]);

function variableName(node: ASTNode | undefined): string {
  if (node?.op === "id") return node.args;
  throw new CelSyntaxError("argument must be a simple name");
}

function bound(scope: Scope, name: string, value: CelValue): Scope {
  return { find: (wanted) => (wanted === name ? value : scope.find(wanted)), budget: scope.budget };
}

/** Range of a loop: a list's items with their index, a map's keys with their values. */
function pairsOf(range: CelValue): (readonly [CelValue, CelValue])[] {
  if (isList(range)) return range.map((item, i) => [BigInt(i), item] as const);
  if (isMap(range)) return range.keys().map((key) => [key, range.get(key) ?? null] as const);
  throw new CelError(`no such overload: ${typeName(range)} is no range of a comprehension`);
}

/** Scopes of a loop's body, one by one: with one variable a list's item or a map's key, with two index or key and value. */
function* iterations(range: CelValue, names: string[], scope: Scope): Generator<{ scope: Scope; item: CelValue }> {
  for (const [key, value] of pairsOf(range)) {
    spend(scope.budget, 1);
    const item = isList(range) ? value : key;
    const [first = "", second] = names;
    yield {
      item,
      scope: second === undefined ? bound(scope, first, item) : bound(bound(scope, first, key), second, value),
    };
  }
}

/** `all` and `exists`: stops at the first item that decides; faults count only when none does. */
function quantifier(decisive: boolean): Loop {
  return (range, args, compile) => {
    const names = args.slice(0, -1).map(variableName);
    const test = compile(args[args.length - 1] as ASTNode);
    return (scope) => {
      let fault: Error | undefined;
      for (const step of iterations(range(scope), names, scope)) {
        const outcome = attempt(test, step.scope);
        if (outcome === decisive) return decisive;
        if (outcome instanceof Error) fault ??= outcome;
      }
      if (fault) throw fault;
      return !decisive;
    };
  };
}

function countOne(range: Compiled, args: ASTNode[], compile: Compile): Compiled {
  const names = args.slice(0, -1).map(variableName);
  const test = compile(args[args.length - 1] as ASTNode);
  return (scope) => {
    let hits = 0;
    for (const step of iterations(range(scope), names, scope)) if (requireBool(test(step.scope))) hits++;
    return hits === 1;
  };
}

function filterLoop(range: Compiled, args: ASTNode[], compile: Compile): Compiled {
  const names = args.slice(0, -1).map(variableName);
  const test = compile(args[args.length - 1] as ASTNode);
  return (scope) => {
    const kept: CelValue[] = [];
    for (const step of iterations(range(scope), names, scope)) if (requireBool(test(step.scope))) kept.push(step.item);
    return kept;
  };
}

/** `map(x, e)` and `map(x, condition, e)`. */
function mapLoop(range: Compiled, args: ASTNode[], compile: Compile): Compiled {
  const names = [variableName(args[0])];
  const test = args.length === 3 ? compile(args[1] as ASTNode) : undefined;
  const transform = compile(args[args.length - 1] as ASTNode);
  return (scope) => {
    const results: CelValue[] = [];
    for (const step of iterations(range(scope), names, scope)) {
      if (!test || requireBool(test(step.scope))) results.push(transform(step.scope));
    }
    return results;
  };
}

function compileBind(args: ASTNode[], compile: Compile): Compiled {
  const name = variableName(args[0]);
  const [value, body] = args.slice(1).map(compile);
  if (!value || !body) throw new CelSyntaxError("cel.bind() takes a name, a value and an expression");
  return (scope) => body(bound(scope, name, value(scope)));
}

const optionalMacros = {
  optMap: (value: CelValue): CelValue => some(value),
  optFlatMap: (value: CelValue): CelValue => value,
};

function compileOptional(
  name: keyof typeof optionalMacros,
  { receiver, args, compile }: { receiver: ASTNode; args: ASTNode[]; compile: Compile },
): Compiled {
  const target = compile(receiver);
  const variable = variableName(args[0]);
  const body = compile(args[1] as ASTNode);
  return (scope) => {
    const optional = target(scope);
    if (kindOf(optional) !== "optional") throw new CelError(`no such overload: ${typeName(optional)}.${name}`);
    const { value } = optional as CelOptional;
    return value === undefined ? none : optionalMacros[name](body(bound(scope, variable, value)));
  };
}
