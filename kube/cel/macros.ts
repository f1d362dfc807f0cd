// The macros that loop or bind a name: all, exists, exists_one, map, filter, transformList, transformMap, transformMapEntry, optMap, optFlatMap.
import type { ASTNode } from "@marcbachmann/cel-js";
import { CelSyntaxError, attempt, requireBool, spend, type Compiled, type Scope } from "./compiled.ts";
import {
  CelError,
  isList,
  isMap,
  kindOf,
  mapOf,
  none,
  some,
  typeName,
  type CelOptional,
  type CelValue,
} from "./values.ts";

/** Compiles one node of the expression that the macro stands in. */
type Compile = (node: ASTNode) => Compiled;

/** A closure for the call `receiver.name(…args)` when it is a macro, else undefined. */
export function compileMacro(
  name: string,
  [receiver, ...args]: [ASTNode, ...ASTNode[]],
  compile: Compile,
): Compiled | undefined {
  if (name in optionalMacros && args.length === 2)
    return compileOptional(name as keyof typeof optionalMacros, { receiver, args, compile });
  const loop = loops[name];
  const variables = variablesOf(name, args.length);
  if (!loop || variables === undefined) return undefined;
  const names = args.slice(0, variables).map(variableName);
  if (names[0] === names[1]) throw new CelSyntaxError(`duplicate variable name: ${names[0]}`);
  return loop(compile(receiver), names, args.slice(variables).map(compile));
}

/** Bodies: the test of a quantifier; an optional condition and the result of a transformation. */
type Loop = (range: Compiled, names: string[], bodies: Compiled[]) => Compiled;

const loops: Record<string, Loop> = {
  all: quantifier(false),
  exists: quantifier(true),
  exists_one: countOne,
  existsOne: countOne,
  filter: filterLoop,
  map: listLoop,
  transformList: listLoop,
  transformMap: mapLoop((results, step, value) => addEntry(results, step.key, value)),
  transformMapEntry: mapLoop((results, _step, value) => {
    if (!isMap(value)) throw new CelError("no such overload");
    for (const key of value.keys()) addEntry(results, key, value.get(key) ?? null);
  }),
};

/** How many variables each macro binds, by its number of arguments. Kubernetes 1.34 has `existsOne` with two only, and no `filter` with two. */
const variables: Record<string, Record<number, number>> = {
  all: { 2: 1, 3: 2 },
  exists: { 2: 1, 3: 2 },
  exists_one: { 2: 1, 3: 2 },
  existsOne: { 3: 2 },
  filter: { 2: 1 },
  map: { 2: 1, 3: 1 },
  transformList: { 3: 2, 4: 2 },
  transformMap: { 3: 2, 4: 2 },
  transformMapEntry: { 3: 2, 4: 2 },
  optMap: { 2: 1 },
  optFlatMap: { 2: 1 },
};

/** Number of arguments that a macro binds as variables, its first; undefined when this is no call of a macro. */
export function variablesOf(name: string, args: number): number | undefined {
  return Object.hasOwn(variables, name) ? variables[name]?.[args] : undefined;
}

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

interface Step {
  scope: Scope;
  item: CelValue;
  key: CelValue;
}

/** Scopes of a loop's body, one by one: with one variable a list's item or a map's key, with two index or key and value. */
function* iterations(range: CelValue, names: string[], scope: Scope): Generator<Step> {
  for (const [key, value] of pairsOf(range)) {
    spend(scope.budget, 1);
    const item = isList(range) ? value : key;
    const [first = "", second] = names;
    yield {
      item,
      key,
      scope: second === undefined ? bound(scope, first, item) : bound(bound(scope, first, key), second, value),
    };
  }
}

/** `all` and `exists`: stops at the first item that decides; faults count only when none does. */
function quantifier(decisive: boolean): Loop {
  return (range, names, bodies) => {
    const [test] = bodies as [Compiled];
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

function countOne(range: Compiled, names: string[], bodies: Compiled[]): Compiled {
  const [test] = bodies as [Compiled];
  return (scope) => {
    let hits = 0;
    for (const step of iterations(range(scope), names, scope)) if (requireBool(test(step.scope))) hits++;
    return hits === 1;
  };
}

function filterLoop(range: Compiled, names: string[], bodies: Compiled[]): Compiled {
  const [test] = bodies as [Compiled];
  return (scope) => {
    const kept: CelValue[] = [];
    for (const step of iterations(range(scope), names, scope)) if (requireBool(test(step.scope))) kept.push(step.item);
    return kept;
  };
}

/** Steps that the condition lets through, with what the last body makes of each. */
function* transformed(steps: Iterable<Step>, bodies: Compiled[]): Generator<readonly [step: Step, result: CelValue]> {
  const [transform, condition] = [...bodies].reverse() as [Compiled, Compiled | undefined];
  for (const step of steps) if (!condition || requireBool(condition(step.scope))) yield [step, transform(step.scope)];
}

/** `map(x, e)`, `map(x, condition, e)`, and `transformList` with two variables. */
function listLoop(range: Compiled, names: string[], bodies: Compiled[]): Compiled {
  return (scope) => Array.from(transformed(iterations(range(scope), names, scope), bodies), ([, result]) => result);
}

type Entries = (readonly [CelValue, CelValue])[];

function addEntry(results: Entries, key: CelValue, value: CelValue): void {
  results.push([key, value]);
}

function mapLoop(add: (results: Entries, step: Step, result: CelValue) => void): Loop {
  return (range, names, bodies) => (scope) => {
    const results: Entries = [];
    for (const [step, result] of transformed(iterations(range(scope), names, scope), bodies))
      add(results, step, result);
    return mapOf(results);
  };
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
