// `params` and the named variables of a policy's expressions.
import type { KubeObject } from "../../api/object.ts";
import type { Budget } from "../../cel/compiled.ts";
import { evaluate, type Program } from "../../cel/program.ts";
import { BudgetError, CelError, fromJson, type CelMap, type CelValue } from "../../cel/values.ts";

/** Finds a name's value. */
export type Lookup = (name: string) => CelValue | undefined;

/** Adds `params` and the policy's own `variables`, each of which is evaluated once, when it is first used. */
export function policyVariables(
  base: Lookup,
  param: KubeObject | undefined,
  named: ReadonlyMap<string, Program>,
  budget: Budget,
): Lookup {
  const params = fromJson(param ?? null);
  const results = new Map<string, CelValue | CelError>();
  const lookup: Lookup = (name) => {
    if (name === "params") return params;
    return name === "variables" ? variables : base(name);
  };
  const variables: CelMap = {
    celKind: "map",
    keys: () => [...named.keys()],
    get: (key) => {
      const program = typeof key === "string" ? named.get(key) : undefined;
      if (!program || typeof key !== "string") return undefined;
      const result = results.get(key) ?? evaluateVariable(key, program, lookup, budget);
      results.set(key, result);
      if (result instanceof CelError) throw result;
      return result;
    },
  };
  return lookup;
}

function evaluateVariable(name: string, program: Program, lookup: Lookup, budget: Budget): CelValue | CelError {
  try {
    return evaluate(program, lookup, budget);
  } catch (error) {
    if (!(error instanceof CelError) || error instanceof BudgetError) throw error;
    return new CelError(`composited variable ${JSON.stringify(name)} fails to evaluate: ${error.message}`, {
      cause: error,
    });
  }
}
