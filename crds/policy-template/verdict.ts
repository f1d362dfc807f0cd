// The verdict about one object: the same JSON at every door, and the sentence that people read.
import type { Action } from "./constraint.ts";

export interface JudgedObject {
  kind: string;
  namespace?: string;
  name: string;
}

/** An object that breaks a rule of a constraint. */
export interface Violation {
  /** Kind of the constraint. */
  template: string;
  constraint: string;
  /** metadata.generation of the constraint. */
  generation: number;
  action: Action;
  /** Index of the rule; -1 when the rules themselves cannot be evaluated. */
  rule: number;
  field?: string;
  /** Without the template's title. */
  message: string;
  object: JudgedObject;
}

export interface Verdict {
  /** No violation has the action deny. */
  allowed: boolean;
  /** Sorted by template, constraint, rule, object. */
  violations: Violation[];
  /** Constraints that need facts that this point does not have, as `<kind>/<name>`. */
  skipped: string[];
  /** Constraints that cannot be decided now, since objects that their rules read are not known; as `<kind>/<name>`. */
  unknown: string[];
}

/** The text before a message in a sentence. */
export function sentenceStart(title: string): string {
  return `${title}: `;
}

/** The text after a message in a sentence. */
export function sentenceEnd(constraint: string): string {
  return ` (policy ${constraint})`;
}

/** The sentence of a violation at every door: `Required labels: needs the labels owner (policy owner-in-prod)`. */
export function toSentence(title: string, { message, constraint }: Pick<Violation, "message" | "constraint">): string {
  return `${sentenceStart(title)}${message}${sentenceEnd(constraint)}`;
}

/** A verdict about several objects. */
export function joinVerdicts(verdicts: readonly Verdict[]): Verdict {
  return toVerdict(
    verdicts.flatMap((one) => one.violations),
    verdicts.flatMap((one) => one.skipped),
    verdicts.flatMap((one) => one.unknown),
  );
}

export function toVerdict(
  violations: readonly Violation[],
  skipped: readonly string[] = [],
  unknown: readonly string[] = [],
): Verdict {
  return {
    allowed: violations.every(({ action }) => action !== "deny"),
    violations: violations.toSorted(byPlace),
    skipped: [...new Set(skipped)].sort(),
    unknown: [...new Set(unknown)].sort(),
  };
}

function byPlace(a: Violation, b: Violation): number {
  return (
    compare(a.template, b.template) ||
    compare(a.constraint, b.constraint) ||
    a.rule - b.rule ||
    byObject(a.object, b.object)
  );
}

function byObject(a: JudgedObject, b: JudgedObject): number {
  return compare(a.kind, b.kind) || compare(a.namespace ?? "", b.namespace ?? "") || compare(a.name, b.name);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
