// The constraints of all templates, ready to judge, by the kind of object that they judge.
import { constraintId } from "./constraint.ts";
import { isDeepStrictEqual } from "node:util";
import type { Constraint } from "./constraint.ts";
import { prepareConstraint, type JudgingConstraint } from "./evaluate.ts";
import { nextExceptionEnd } from "./match-expressions.ts";
import type { PolicyTemplate, PolicyTemplateSpec } from "./policy-template.ts";
import type { Violation } from "./verdict.ts";

/** An immutable set of constraints in force. */
export interface Policies {
  /** By kind of the judged object. */
  bySubject: ReadonlyMap<string, readonly JudgingConstraint[]>;
  /** By `<kind>/<name>` of the constraint. */
  byConstraint: ReadonlyMap<string, JudgingConstraint>;
  /** When an exception ends, so that they must be prepared again; Infinity when none does. */
  expires: number;
}

export const NO_POLICIES: Policies = { bySubject: new Map(), byConstraint: new Map(), expires: Infinity };

/** The rules of a template that are in force: the last that could be compiled. Undefined before the first. */
export function rulesInForce({ status }: PolicyTemplate): PolicyTemplateSpec | undefined {
  return status?.inForce?.spec as PolicyTemplateSpec | undefined;
}

export interface PoliciesInput {
  templates: readonly PolicyTemplate[];
  /** Constraints of one kind. */
  constraintsOf: (kind: string) => readonly Constraint[];
  now: Date;
  /** Prepared constraints that did not change are taken over. */
  previous?: Policies;
}

/** Prepares all constraints. Those of templates without rules in force are left out. */
export function preparePolicies({ templates, constraintsOf, now, previous = NO_POLICIES }: PoliciesInput): Policies {
  const byConstraint = new Map<string, JudgingConstraint>();
  let expires = Infinity;
  for (const { rules, constraint } of templates.flatMap((template) => listConstraints(template, constraintsOf))) {
    const id = constraintId(constraint);
    expires = Math.min(expires, nextExceptionEnd(constraint.spec.match, now)?.getTime() ?? Infinity);
    byConstraint.set(id, reuse(previous, now, { id, rules, constraint }) ?? prepareConstraint(rules, constraint, now));
  }
  return { byConstraint, bySubject: groupBySubject([...byConstraint.values()]), expires };
}

function listConstraints(
  template: PolicyTemplate,
  constraintsOf: PoliciesInput["constraintsOf"],
): { rules: PolicyTemplateSpec; constraint: Constraint }[] {
  const rules = rulesInForce(template);
  return rules ? constraintsOf(rules.kind).map((constraint) => ({ rules, constraint })) : [];
}

/** The title of the rules that an object breaks. */
export function titleOf(
  { byConstraint }: Policies,
  { template, constraint }: Pick<Violation, "template" | "constraint">,
): string {
  return byConstraint.get(constraintId({ kind: template, metadata: { name: constraint } }))?.template.title ?? template;
}

interface Wanted {
  id: string;
  rules: PolicyTemplateSpec;
  constraint: Constraint;
}

/** While no exception has ended, equal rules and an equal generation of the constraint judge alike. */
function reuse(previous: Policies, now: Date, { id, rules, constraint }: Wanted): JudgingConstraint | undefined {
  const known = previous.byConstraint.get(id);
  const isSame =
    known !== undefined &&
    previous.expires > now.getTime() &&
    isDeepStrictEqual(known.template, rules) &&
    known.constraint.metadata.uid === constraint.metadata.uid &&
    known.constraint.metadata.generation === constraint.metadata.generation;
  return isSame ? known : undefined;
}

function groupBySubject(constraints: readonly JudgingConstraint[]): Map<string, JudgingConstraint[]> {
  const groups = new Map<string, JudgingConstraint[]>();
  for (const one of constraints)
    for (const kind of one.template.subjects) groups.set(kind, [...(groups.get(kind) ?? []), one]);
  return groups;
}
