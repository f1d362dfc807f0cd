// The verdict of constraints about one object, by the same expressions that the API server evaluates. Pure: callers bring every fact.
import { compilePolicy, evaluatePolicy, type CompiledPolicy, type Denial } from "../../kube/admission/policy/policy.ts";
import type { Lookup } from "../../kube/admission/policy/variables.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { fromJson, type CelValue } from "../../kube/cel/values.ts";
import { compileConstraint } from "./compile.ts";
import { actionAt, type Constraint, type Point } from "./constraint.ts";
import type { PolicyTemplateSpec } from "./policy-template.ts";
import { policyName } from "./policy-objects.ts";
import { sentenceEnd, sentenceStart, toVerdict, type Verdict, type Violation } from "./verdict.ts";

/** A constraint ready to judge objects. */
export interface JudgingConstraint {
  template: PolicyTemplateSpec;
  constraint: Constraint;
  policy: CompiledPolicy;
}

/** An object, and the facts of the point that asks about it. */
export interface Review {
  point: Point;
  /** Stored objects and files are judged as if they were created. */
  operation: "CREATE" | "UPDATE";
  object: KubeObject;
  oldObject?: KubeObject | undefined;
  /** Labels of its namespace; those of a place are `placeLabels`. Undefined for cluster-wide objects. */
  namespaceLabels: Readonly<Record<string, string>> | undefined;
  /** The caller, where there is one. */
  user?: { name: string; groups: readonly string[] } | undefined;
}

/** Prepares a constraint. `policy.broken` says why its rules cannot be evaluated. */
export function prepareConstraint(template: PolicyTemplateSpec, constraint: Constraint, now: Date): JudgingConstraint {
  const spec = { ...compileConstraint(template, constraint, now), failurePolicy: "Fail" };
  const metadata = { name: policyName(constraint) };
  const policy = compilePolicy({ apiVersion: "", kind: "ValidatingAdmissionPolicy", metadata, spec });
  return { template, constraint, policy };
}

/** The verdict of all constraints about one object. */
export function evaluate(constraints: readonly JudgingConstraint[], review: Review): Verdict {
  const subject = constraints.filter((one) => isSubject(one, review));
  const [judged, skipped] = [
    subject.filter((one) => hasFacts(one, review)),
    subject.filter((one) => !hasFacts(one, review)),
  ];
  const lookup = judged.length > 0 ? reviewVariables(review) : () => undefined;
  return toVerdict(
    judged.flatMap((one) => judge(one, review, lookup)),
    skipped.map(({ constraint }) => `${constraint.kind}/${constraint.metadata.name}`),
  );
}

function isSubject({ template }: JudgingConstraint, { object, operation }: Review): boolean {
  return template.subjects.includes(object.kind) && template.operations.includes(operation);
}

function hasFacts({ template: { needs } }: JudgingConstraint, { point, user }: Review): boolean {
  return (!needs.includes("user") || user !== undefined) && (!needs.includes("oldObject") || point === "write");
}

function judge({ template, constraint, policy }: JudgingConstraint, review: Review, lookup: Lookup): Violation[] {
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
