// Plans the violations in the status of an App or a Space, and the condition CompliesWithPolicy. Pure.
import { isDeepStrictEqual } from "node:util";
import type { Action } from "../../crds/policy-template/constraint.ts";
import { constraintId } from "../../crds/policy-template/constraint.ts";
import { MAX_SHOWN_VIOLATIONS, type ShownViolation } from "../../crds/policy-template/shown-violation.ts";
import { toSentence, type Violation } from "../../crds/policy-template/verdict.ts";
import type { ObjectMeta } from "../../kube/api/object.ts";
import type { ReadyDraft, ReconcileResult } from "../../kube/controller/controller.ts";

export const COMPLIES = "CompliesWithPolicy";

const MAX_SENTENCE = 1024;
/** Sentences of the condition; status.policyViolations has more. */
const MAX_SENTENCES = 5;

/** The title of a constraint's template. */
export type TitleOf = (violation: Pick<Violation, "template" | "constraint">) => string;

/** An App or a Space. */
interface Holder {
  metadata: ObjectMeta;
  status?: { policyViolations?: readonly ShownViolation[] | undefined } | undefined;
}

/** Those that deny come first. Nothing is written while they are as before, or about an object that never broke a rule. */
export function planShownViolations(
  { metadata, status }: Holder,
  violations: readonly Violation[],
  titleOf: TitleOf,
): ReconcileResult {
  const shown = violations
    .toSorted((a, b) => RANK[a.action] - RANK[b.action])
    .slice(0, MAX_SHOWN_VIOLATIONS)
    .map((violation) => toShown(metadata, violation, titleOf));
  const before = status?.policyViolations ?? [];
  if (isDeepStrictEqual(before, shown)) return { keepStatus: true };
  return {
    status: { policyViolations: shown.length > 0 ? shown : undefined },
    ...(shown.length > 0
      ? { ready: toCondition(shown, violations.length) }
      : { ready: { status: "True", reason: "Complies", message: "it breaks no rule of operator policy" } }),
  };
}

const RANK: Record<Action, number> = { deny: 0, warn: 1, dryrun: 2 };

function toShown(metadata: ObjectMeta, violation: Violation, titleOf: TitleOf): ShownViolation {
  const { template, constraint, action, object } = violation;
  return {
    constraint: constraintId({ kind: template, metadata: { name: constraint } }),
    action,
    kind: object.kind,
    name: object.name,
    ...(object.namespace !== metadata.namespace && { namespace: object.namespace }),
    message: toSentence(titleOf(violation), violation).slice(0, MAX_SENTENCE),
  };
}

const REASONS: Record<Action, string> = { deny: "PolicyDenies", warn: "PolicyWarns", dryrun: "PolicyCounts" };
const EFFECTS: Record<Action, string> = { deny: "", warn: " [only warns]", dryrun: " [only counted]" };

function toCondition(shown: readonly ShownViolation[], total: number): ReadyDraft {
  const worst = shown[0]?.action ?? "dryrun";
  const sentences = [
    ...new Set(shown.map(({ kind, name, message, action }) => `${kind} ${name}: ${message}${EFFECTS[action]}`)),
  ];
  const more = total > MAX_SENTENCES ? [`and ${total - MAX_SENTENCES} more`] : [];
  const message = [...sentences.slice(0, MAX_SENTENCES), ...more].join("; ");
  return { status: "False", reason: REASONS[worst], message, ...(worst === "deny" && { isFailure: true as const }) };
}
