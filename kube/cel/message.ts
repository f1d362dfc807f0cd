// The line that a message expression gives.
import type { Budget } from "./compiled.ts";
import { evaluate, type Program } from "./program.ts";
import { BudgetError, CelError } from "./values.ts";

/** A message expression's line; undefined when it fails, gives no text, an empty one, or several lines. */
export function evaluateMessage(
  program: Program,
  variables: Parameters<typeof evaluate>[1],
  budget: Budget,
): string | undefined {
  try {
    const value = evaluate(program, variables, budget);
    const text = typeof value === "string" ? value.trim() : "";
    return text === "" || text.includes("\n") || text.length > 5 * 1024 ? undefined : text;
  } catch (error) {
    if (error instanceof CelError && !(error instanceof BudgetError)) return undefined;
    throw error;
  }
}
