// The verdict of constraints about one object, by the same expressions that the API server evaluates. Pure: callers bring every fact.
import { compilePolicy, evaluatePolicy, type CompiledPolicy, type Denial } from "../../kube/admission/policy/policy.ts";
import type { Lookup } from "../../kube/admission/policy/variables.ts";
import { selectorMatches, type LabelSelector } from "../../kube/api/label-selector.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { fromJson, type CelValue } from "../../kube/cel/values.ts";
import { compileConstraint, type RuleSet } from "./compile.ts";
import { actionAt, constraintId, type Constraint, type Point } from "./constraint.ts";
import { hasReads, type PolicyTemplateSpec } from "./policy-template.ts";
import { STABLE_LABELS } from "../labels.ts";
import { namespaceSelector } from "./namespace-selector.ts";
import { policyName } from "./policy-objects.ts";
import { MAX_READ_OBJECTS, type Refs } from "./refs.ts";
import { findSubject, livesInSpaces } from "./subjects.ts";
import { sentenceEnd, sentenceStart, toSentence, toVerdict, type Verdict, type Violation } from "./verdict.ts";

/** A constraint ready to judge objects. */
export interface JudgingConstraint {
  template: PolicyTemplateSpec;
  constraint: Constraint;
  /** Namespaces of spaces that it may match. */
  namespaces: LabelSelector;
  policy: CompiledPolicy;
  /** For rules that read other objects: denies each object that they are asked about. */
  reach: CompiledPolicy | undefined;
}

/** An object, and the facts of the point that asks about it. */
export interface Review {
  point: Point;
  /** Stored objects and files are judged as if they were created. */
  operation: "CREATE" | "UPDATE";
  object: KubeObject;
  oldObject?: KubeObject | undefined;
  /** Labels of its namespace; those of a place are `toNamespaceLabels`. Undefined for cluster-wide objects. */
  namespaceLabels: Readonly<Record<string, string>> | undefined;
  /** The caller, where there is one. */
  user?: { name: string; groups: readonly string[] } | undefined;
  /** Other objects, for templates with reads. Without it none is known. */
  refs?: Refs | undefined;
}

/** Prepares a constraint. `policy.broken` says why its rules cannot be evaluated. */
export function prepareConstraint(template: PolicyTemplateSpec, constraint: Constraint, now: Date): JudgingConstraint {
  const rules = compileConstraint(template, constraint, now);
  return {
    template,
    constraint,
    namespaces: namespaceSelector(constraint.spec.match),
    policy: toPolicy(constraint, rules),
    reach: hasReads(template)
      ? toPolicy(constraint, { ...rules, validations: [{ expression: "!variables.matches" }] })
      : undefined,
  };
}

function toPolicy(constraint: Constraint, rules: RuleSet): CompiledPolicy {
  const metadata = { name: policyName(constraint) };
  const spec = { ...rules, failurePolicy: "Fail" };
  return compilePolicy({ apiVersion: "", kind: "ValidatingAdmissionPolicy", metadata, spec });
}

/** The verdict of all constraints about one object. */
export function evaluate(constraints: readonly JudgingConstraint[], review: Review): Verdict {
  const subject = constraints.filter((one) => isSubject(one, review) && mayReach(one, review));
  const [judged, skipped] = [
    subject.filter((one) => hasFacts(one, review)),
    subject.filter((one) => !hasFacts(one, review)),
  ];
  const lookup = judged.length > 0 ? reviewVariables(review) : () => undefined;
  const answers = judged.map((one) => ({ one, found: judge(one, review, lookup) }));
  return toVerdict(
    answers.flatMap(({ found }) => (found === "unknown" ? [] : found)),
    skipped.map(({ constraint }) => constraintId(constraint)),
    answers.filter(({ found }) => found === "unknown").map(({ one }) => constraintId(one.constraint)),
  );
}

/** The sentence of a constraint that is unknown: `Running tasks: cannot be decided now, since its Task objects cannot be read or are more than 1000 (policy few)`. */
export function toUndecidedSentence({ template: { title, reads = [] }, constraint }: JudgingConstraint): string {
  const kinds = [...new Set(reads.map(({ kind }) => kind))].join(" and ");
  const message = `cannot be decided now, since its ${kinds} objects cannot be read or are more than ${MAX_READ_OBJECTS}`;
  return toSentence(title, { message, constraint: constraint.metadata.name });
}

/** As the API server selects a policy by the namespace, before any expression is evaluated. Outside of spaces the expressions decide. */
export function mayReach(
  { namespaces }: Pick<JudgingConstraint, "namespaces">,
  { object, namespaceLabels }: { object: Pick<KubeObject, "kind">; namespaceLabels: Review["namespaceLabels"] },
): boolean {
  if (namespaceLabels?.[STABLE_LABELS.spaceName] === undefined) return true;
  const definition = findSubject(object.kind);
  return !definition || !livesInSpaces(definition) || selectorMatches(namespaces, namespaceLabels);
}

function isSubject({ template }: JudgingConstraint, { object, operation }: Review): boolean {
  return template.subjects.includes(object.kind) && template.operations.includes(operation);
}

function hasFacts({ template: { needs } }: JudgingConstraint, { point, user }: Review): boolean {
  return (!needs.includes("user") || user !== undefined) && (!needs.includes("oldObject") || point === "write");
}

function judge(one: JudgingConstraint, review: Review, base: Lookup): Violation[] | "unknown" {
  const lookup = withRefs(one, review, base);
  if (lookup === "unknown") return lookup;
  const { template, constraint, policy } = one;
  const { namespace, name } = review.object.metadata;
  return evaluatePolicy(policy, lookup, undefined).map((denial) => {
    const rule = denial.validation ?? -1;
    const field = template.rules[rule]?.field;
    return {
      template: constraint.kind,
      constraint: constraint.metadata.name,
      generation: constraint.metadata.generation ?? 0,
      action: actionAt(constraint, review.point),
      rule,
      ...(field !== undefined && { field }),
      message: messageOf(denial, template.title, constraint.metadata.name),
      object: { kind: review.object.kind, ...(namespace !== undefined && { namespace }), name },
    };
  });
}

/** Does the constraint judge this object by others? */
export function readsOthersFor(one: JudgingConstraint, review: Review): boolean {
  return mayReach(one, review) && matchesByReads(one, reviewVariables(review));
}

function matchesByReads({ reach }: JudgingConstraint, base: Lookup): boolean {
  return reach !== undefined && evaluatePolicy(reach, base, undefined).length > 0;
}

/** Other objects are read only where the constraint matches. */
function withRefs(one: JudgingConstraint, { refs }: Review, base: Lookup): Lookup | "unknown" {
  if (!matchesByReads(one, base)) return base;
  const read = (one.template.reads ?? []).map((each) => [each.as, refs?.(each) ?? "unknown"] as const);
  if (read.some(([, objects]) => objects === "unknown")) return "unknown";
  const value = fromJson(Object.fromEntries(read));
  return (name) => (name === "refs" ? value : base(name));
}

function messageOf({ message }: Denial, title: string, constraint: string): string {
  const [start, end] = [sentenceStart(title), sentenceEnd(constraint)];
  return message.startsWith(start) && message.endsWith(end) ? message.slice(start.length, -end.length) : message;
}

/** The names that expressions may read, made when they are first read. */
function reviewVariables({ operation, object, oldObject, namespaceLabels, user }: Review): Lookup {
  const made = new Map<string, CelValue>();
  const makers: Record<string, () => unknown> = {
    object: () => asStored(object),
    oldObject: () => (oldObject ? asStored(oldObject) : null),
    request: () => ({ operation, ...(user && { userInfo: { username: user.name, groups: user.groups, extra: {} } }) }),
    namespaceObject: () => (namespaceLabels === undefined ? null : { metadata: { labels: namespaceLabels } }),
  };
  return (name) => {
    const known = made.get(name);
    if (known !== undefined || !Object.hasOwn(makers, name)) return known;
    const value = fromJson(makers[name]?.());
    made.set(name, value);
    return value;
  };
}

/** An API server drops labels and annotations that are empty before it judges. */
function asStored(object: KubeObject): KubeObject {
  const { labels, annotations, ...metadata } = object.metadata;
  const given = Object.entries({ labels, annotations }).filter(([, map]) => map && Object.keys(map).length > 0);
  return { ...object, metadata: { ...metadata, ...Object.fromEntries(given) } };
}
