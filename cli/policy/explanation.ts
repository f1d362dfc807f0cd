// Each constraint's answer about an object: whether it matches and why not, and its verdict. Pure.
import { actionAt, type Action, type Constraint, constraintId } from "../../crds/policy-template/constraint.ts";
import { evaluate, prepareConstraint } from "../../crds/policy-template/evaluate.ts";
import type { PolicyTemplateSpec } from "../../crds/policy-template/policy-template.ts";
import { createRefs, type ListObjects } from "../../crds/policy-template/refs.ts";
import { joinVerdicts, toSentence, toVerdict, type Verdict } from "../../crds/policy-template/verdict.ts";
import { table } from "../output.ts";
import { describeEnforced } from "./describe.ts";
import { explainMatch } from "./explain-match.ts";
import type { Caller } from "./judge.ts";
import { rulesOf, type Policy } from "./live-policies.ts";
import type { PlacedObject } from "./places.ts";

export interface Explanation {
  constraint: string;
  action: Action;
  enforced: string;
  matches: boolean;
  /** Why it does not match, or cannot be decided. */
  reasons: string[];
  sentences: string[];
}

export interface ExplainedObject {
  placed: PlacedObject;
  /** Answers of the constraints that judge the kind. */
  explanations: Explanation[];
  verdict: Verdict;
}

export interface Asked {
  user: Caller | undefined;
  /** Objects that rules read. */
  list: ListObjects;
  now: Date;
}

export function explainObject(policies: readonly Policy[], placed: PlacedObject, asked: Asked): ExplainedObject {
  const answers = policies
    .map((policy) => ({ rules: rulesOf(policy.template), constraints: policy.constraints ?? [] }))
    .filter(({ rules }) => rules.subjects.includes(placed.object.kind))
    .flatMap(({ rules, constraints }) => constraints.map((one) => explainOne(rules, one, placed, asked)));
  return {
    placed,
    explanations: answers.map(({ explanation }) => explanation),
    verdict: joinVerdicts(answers.map(({ verdict }) => verdict)),
  };
}

interface Answer {
  explanation: Explanation;
  verdict: Verdict;
}

function explainOne(rules: PolicyTemplateSpec, constraint: Constraint, placed: PlacedObject, asked: Asked): Answer {
  const id = constraintId(constraint);
  const common = { constraint: id, action: actionAt(constraint, "write"), enforced: describeEnforced(constraint) };
  const reasons = placed.isPlaceKnown ? explainMatch(constraint, placed, asked.now) : [];
  const nothing = toVerdict([]);
  if (reasons.length > 0)
    return { explanation: { ...common, matches: false, reasons, sentences: [] }, verdict: nothing };
  const missing = placed.isPlaceKnown ? missingFact(rules, placed, asked) : "you may not read its namespace";
  if (missing !== undefined)
    return {
      explanation: { ...common, matches: true, reasons: [missing], sentences: [] },
      verdict: { ...nothing, skipped: [id] },
    };
  const { object, namespaceLabels } = placed;
  const refs = createRefs(asked.list, placed);
  const review = { point: "write", operation: "CREATE", object, namespaceLabels, user: asked.user, refs } as const;
  const verdict = evaluate([prepareConstraint(rules, constraint, asked.now)], review);
  const sentences = verdict.violations.map((violation) => toSentence(rules.title, violation));
  const open = verdict.unknown.length > 0 ? ["its rules read objects that you may not list"] : [];
  return { explanation: { ...common, matches: true, reasons: open, sentences }, verdict };
}

/** An object is judged as if it were created now. */
function missingFact({ operations, needs }: PolicyTemplateSpec, { object }: PlacedObject, { user }: Asked) {
  if (object.metadata.deletionTimestamp !== undefined) return "it is being deleted, and no policy judges that";
  if (!operations.includes("CREATE")) return "it judges updates only";
  if (needs.includes("oldObject")) return "it compares with the object before the update";
  return needs.includes("user") && user === undefined ? "it depends on the user: add --as USER" : undefined;
}

const SAYS: Record<Action, string> = { deny: "refuses it", warn: "warns", dryrun: "counts it, and refuses nothing" };

/** A line for each constraint: those that are broken first, then those that hold, then those that do not match. */
export function toTable({ placed: { object }, explanations }: ExplainedObject): string[] {
  const { kind, metadata } = object;
  const title = `${kind}/${metadata.name}${metadata.namespace === undefined ? "" : ` in ${metadata.namespace}`}`;
  if (explanations.length === 0) return [`${title}: no constraint judges objects of this kind.`];
  const rows = explanations
    .toSorted((one, other) => rank(one) - rank(other))
    .flatMap((one) => linesOf(one).map((line) => [one.constraint, one.action, one.enforced, line]));
  return [`${title}:`, ...table(["constraint", "action", "enforced", "verdict"], rows)];
}

function rank({ sentences, matches }: Explanation): number {
  if (sentences.length > 0) return 0;
  return matches ? 1 : 2;
}

function linesOf({ action, matches, reasons, sentences }: Explanation): string[] {
  if (sentences.length > 0) return sentences.map((sentence) => `${SAYS[action]}: ${sentence}`);
  if (!matches) return [`does not match: ${reasons.join("; ")}`];
  return [reasons.length > 0 ? `not decided: ${reasons.join("; ")}` : "allows it"];
}
