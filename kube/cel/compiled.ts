// A compiled expression: a closure that reads names from a scope and spends from a budget.
import { BudgetError, CelError, type CelValue } from "./values.ts";

/** The names an expression may use, and what is left of its budget. */
export interface Scope {
  find(name: string): CelValue | undefined;
  budget: Budget;
}

/** Steps left: one for each node evaluated in a loop and each function call, more for long texts. Shared by everything one request evaluates. */
export interface Budget {
  steps: number;
}

export type Compiled = (scope: Scope) => CelValue;

/** An expression that does not parse or compile, and from which character on. */
export class CelSyntaxError extends Error {
  override readonly name = "CelSyntaxError";
  readonly position: number;
  constructor(message: string, options: { position?: number; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.position = options.position ?? 0;
  }
}

/** Takes from the budget. */
export function spend(budget: Budget, steps: number): void {
  budget.steps -= steps;
  if (budget.steps < 0) throw new BudgetError("operation cancelled: actual cost limit exceeded");
}

export function requireBool(value: CelValue): boolean {
  if (typeof value === "boolean") return value;
  throw new CelError("no such overload");
}

/** A truth value, or the fault that took its place. */
export function attempt(compiled: Compiled, scope: Scope): boolean | CelError {
  try {
    return requireBool(compiled(scope));
  } catch (error) {
    if (error instanceof CelError && !(error instanceof BudgetError)) return error;
    throw error;
  }
}
