// A constraint as the spec of a ValidatingAdmissionPolicy. The API server and our own evaluator both read this one text, so that their verdicts are the same.
import type { PolicySpec, Validation } from "../../kube/admission/policy/types.ts";
import { App } from "../app/app.ts";
import type { Constraint } from "./constraint.ts";
import { celLiteral, celText } from "./literal.ts";
import { matchExpression, PLACE_VARIABLES, type NamedExpression } from "./match-expressions.ts";
import { readParameters } from "./parameters.ts";
import type { PolicyTemplateSpec } from "./policy-template.ts";
import { sentenceEnd, sentenceStart } from "./verdict.ts";

/** The parts of a policy that every door evaluates. */
export type RuleSet = Required<Pick<PolicySpec, "matchConditions" | "variables" | "validations">>;

/** Compiles a constraint of a template. Exceptions that ended before `now` do not count. */
export function compileConstraint(spec: PolicyTemplateSpec, constraint: Constraint, now: Date): RuleSet {
  return {
    matchConditions: judgedObjects(spec),
    variables: listVariables(spec, constraint, now),
    validations: spec.rules.map((rule, index) => toValidation(spec.title, constraint.metadata.name, { rule, index })),
  };
}

function listVariables(
  spec: PolicyTemplateSpec,
  { spec: { match, parameters } }: Constraint,
  now: Date,
): NamedExpression[] {
  return [
    ...PLACE_VARIABLES,
    { name: "matches", expression: matchExpression(match, now) },
    { name: "params", expression: celLiteral(parametersOf(spec, parameters)) },
    { name: "anyObject", expression: "object" },
    ...spec.variables,
  ];
}

/** Parameters that the schema refuses stand as they are: the API server refuses them, and rules that read them deny. */
function parametersOf(spec: PolicyTemplateSpec, parameters: unknown): unknown {
  const read = readParameters(spec, parameters);
  return "fault" in read ? (parameters ?? {}) : read.parameters;
}

interface IndexedRule {
  rule: PolicyTemplateSpec["rules"][number];
  index: number;
}

/** Whether the constraint matches is decided first, so that a rule is never evaluated elsewhere. */
function toValidation(title: string, constraint: string, { rule, index }: IndexedRule): Validation {
  const fallback = rule.message ?? `rule ${index + 1} of the policy does not hold`;
  return {
    expression: `!variables.matches || (${rule.expression})`,
    message: `${sentenceStart(title)}${fallback}${sentenceEnd(constraint)}`,
    ...(rule.messageExpression !== undefined && {
      messageExpression: `${celText(sentenceStart(title))} + (${rule.messageExpression}) + ${celText(sentenceEnd(constraint))}`,
    }),
    reason: "Invalid",
  };
}

/** Objects under deletion are not judged, nor are updates that change no part that people write, nor is the stop of an app. */
export function judgedObjects({ subjects }: Pick<PolicyTemplateSpec, "subjects">): NamedExpression[] {
  return [
    { name: "not-deleted", expression: "!has(object.metadata.deletionTimestamp)" },
    {
      name: "changed",
      expression: `request.operation == 'CREATE' || ${["spec", "metadata.labels", "metadata.annotations"].map(differs).join(" || ")}`,
    },
    ...(subjects.includes("App") ? [{ name: "not-stopped", expression: `!(${isAppStop()})` }] : []),
  ];
}

/** Whether an optional field of object and oldObject differs. */
function differs(field: string): string {
  const [object, old] = [`object.${field}`, `oldObject.${field}`];
  return `has(${object}) != has(${old}) || (has(${object}) && ${object} != ${old})`;
}

/** An incident needs no exception: an update that only stops an app is let through. */
function isAppStop(): string {
  const others = Object.keys(App.spec.shape).filter((field) => field !== "state");
  const same = [...others.map((field) => `spec.${field}`), "metadata.labels"].map((field) => `!(${differs(field)})`);
  const stops = ["oldObject.spec.state != 'Stopped'", "object.spec.state == 'Stopped'"];
  return ["request.operation == 'UPDATE'", "object.kind == 'App'", ...stops, ...same].join(" && ");
}
