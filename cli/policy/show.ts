// `cup policy show`.
import { stringify } from "yaml";
import type { KubeObject } from "../../kube/api/object.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { constraintId } from "../../crds/policy-template/constraint.ts";
import type { Constraint } from "../../crds/policy-template/constraint.ts";
import type { PolicyTemplate, PolicyTemplateSpec } from "../../crds/policy-template/policy-template.ts";
import { fields, table, type Result } from "../output.ts";
import { describeAction, describeCondition, describeEnforced, describeMatch, messageOfCondition } from "./describe.ts";
import { findPolicy, type Found } from "./find.ts";
import { readPolicies, rulesOf } from "./live-policies.ts";

export async function showPolicy(kube: KubeClient, name: string): Promise<Result> {
  return presentPolicy(findPolicy(await readPolicies(kube), name), new Date());
}

/** The answer about a template or a constraint. Pure. */
export function presentPolicy({ policy, constraint }: Found, now: Date): Result {
  const { template, constraints = [] } = policy;
  if (constraint)
    return {
      json: { constraint: withoutManagers(constraint), template: withoutManagers(template) },
      text: constraintText(constraint, template, now),
    };
  return {
    json: { template: withoutManagers(template), constraints: constraints.map(withoutManagers) },
    text: templateText(template, constraints),
  };
}

function withoutManagers(object: KubeObject): KubeObject {
  const { managedFields: _managedFields, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function templateText(template: PolicyTemplate, constraints: readonly Constraint[]): string[] {
  const { title, subjects, operations, needs, parameters } = template.spec;
  const schema = parameters?.schema as object | undefined;
  return [
    ...fields([
      ["template", template.metadata.name],
      ["title", title],
      ["judges", `${subjects.join(", ")} at ${operations.join(", ")}`],
      ...(needs.length > 0 ? [["needs", needs.join(", ")] as const] : []),
      ["ready", withMessage(describeCondition(template, "Ready"), messageOfCondition(template, "Ready"))],
      ["parameters", schema ? toYaml(schema) : "none"],
      ["constraints", constraints.map(constraintId).join(", ") || "none: nothing is refused"],
    ]),
    "",
    ...ruleLines(rulesOf(template)),
  ];
}

function constraintText(constraint: Constraint, template: PolicyTemplate, now: Date): string[] {
  const { match, parameters } = constraint.spec;
  return [
    ...fields([
      ["constraint", constraintId(constraint)],
      ["title", template.spec.title],
      ["action", describeAction(constraint)],
      ["where", describeMatch(match)],
      ["enforced", withMessage(describeEnforced(constraint), messageOfCondition(constraint, "Enforced"))],
      ["parameters", parameters && Object.keys(parameters).length > 0 ? toYaml(parameters) : "none"],
    ]),
    "",
    ...ruleLines(rulesOf(template)),
    ...exceptionLines(constraint, now),
    ...violationLines(constraint),
  ];
}

function toYaml(value: object): string {
  return stringify(value).trimEnd();
}

function withMessage(text: string, message: string | undefined): string {
  return message ? `${text}: ${message}` : text;
}

function ruleLines({ variables, rules }: PolicyTemplateSpec): string[] {
  return [
    ...fields([
      ...variables.map(({ name, expression }) => [`variables.${name}`, expression.trim()] as const),
      ...rules.map(({ expression }, index) => [`rule ${index + 1}`, expression.trim()] as const),
    ]),
  ];
}

function exceptionLines({ spec: { match } }: Constraint, now: Date): string[] {
  const { except = [] } = match ?? {};
  if (except.length === 0) return [];
  const rows = except.map(({ space, name, until, reason }) => [space, name ?? "all", describeEnd(until, now), reason]);
  return ["", ...table(["exempt space", "object", "until", "reason"], rows)];
}

/** When an exception ends. */
function describeEnd(until: string | undefined, now: Date): string {
  if (until === undefined) return "no end";
  return Date.parse(until) > now.getTime() ? until : `${until} (ended)`;
}

function violationLines({ status }: Constraint): string[] {
  const { violations = [], totalViolations = violations.length } = status ?? {};
  if (!status?.violations) return ["", "Not audited yet."];
  if (totalViolations === 0) return ["", "No stored object violates it."];
  const rows = violations.map(({ kind, namespace, name, message }) => [`${kind}/${name}`, namespace ?? "", message]);
  const more = totalViolations - violations.length;
  return ["", ...table(["violated by", "namespace", "sentence"], rows), ...(more > 0 ? [`and ${more} more`] : [])];
}
