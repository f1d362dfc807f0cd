// The verdict about a write, as the sentences that its writer reads. Pure.
import { actionAt, constraintId } from "./constraint.ts";
import { evaluate, toUndecidedSentence, type JudgingConstraint, type Review } from "./evaluate.ts";
import { titleOf, type Policies } from "./policies.ts";
import { toSentence, type Violation } from "./verdict.ts";

export interface WriteVerdict {
  /** The write is refused while there is any. */
  denied: string[];
  /** Violations that only warn, and rules that cannot be decided now: the start gate decides those later. */
  warned: string[];
}

/** Judges a write by these constraints of the policies. */
export function judgeWrite(
  policies: Policies,
  constraints: readonly JudgingConstraint[],
  review: Omit<Review, "point">,
): WriteVerdict {
  const { violations, unknown } = evaluate(constraints, { ...review, point: "write" });
  const listSentences = (action: Violation["action"]): string[] =>
    violations.filter((one) => one.action === action).map((one) => toSentence(titleOf(policies, one), one));
  const undecided = constraints.filter(
    ({ constraint }) => unknown.includes(constraintId(constraint)) && actionAt(constraint, "write") !== "dryrun",
  );
  return { denied: listSentences("deny"), warned: [...listSentences("warn"), ...undecided.map(toUndecidedSentence)] };
}
