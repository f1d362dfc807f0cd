// `cup policy list`.
import type { KubeClient } from "../../kube/client/client.ts";
import { table, type Result } from "../output.ts";
import { constraintId } from "../../crds/policy-template/constraint.ts";
import { describeAction, describeCondition, describeEnforced, describeMatch } from "./describe.ts";
import { readPolicies, type Policy } from "./live-policies.ts";

export async function listPolicies(kube: KubeClient): Promise<Result> {
  return presentPolicies(await readPolicies(kube));
}

/** The answer about these policies. Pure. */
export function presentPolicies(policies: readonly Policy[]): Result {
  return {
    json: { templates: policies.map(toTemplateJson), constraints: policies.flatMap(toConstraintsJson) },
    text: [...templateTable(policies), "", ...constraintTable(policies)],
  };
}

function toTemplateJson({ template, constraints }: Policy) {
  const { kind, title, subjects } = template.spec;
  return {
    name: template.metadata.name,
    kind,
    title,
    subjects,
    constraints: constraints?.length ?? null,
    ready: describeCondition(template, "Ready"),
  };
}

function toConstraintsJson({ constraints = [] }: Policy) {
  return constraints.map(({ kind, metadata, spec, status }) => ({
    kind,
    name: metadata.name,
    enforcement: spec.enforcement,
    match: spec.match ?? {},
    enforced: status?.enforced ?? null,
    violations: status?.totalViolations ?? null,
  }));
}

function templateTable(policies: readonly Policy[]): string[] {
  if (policies.length === 0) return ["No templates. Next: kubectl apply -f a PolicyTemplate"];
  return table(
    ["template", "title", "judges", "constraints", "ready"],
    policies.map(({ template, constraints }) => [
      template.metadata.name,
      template.spec.title,
      template.spec.subjects.join(", "),
      constraints === undefined ? "not served yet" : String(constraints.length),
      describeCondition(template, "Ready"),
    ]),
  );
}

function constraintTable(policies: readonly Policy[]): string[] {
  const all = policies.flatMap(({ constraints = [] }) => constraints);
  if (all.length === 0) return ["No constraints: nothing is refused. Next: cup policy show TEMPLATE"];
  return table(
    ["constraint", "action", "where", "enforced", "violations"],
    all.map((one) => [
      constraintId(one),
      describeAction(one),
      describeMatch(one.spec.match),
      describeEnforced(one),
      one.status?.totalViolations === undefined ? "not audited yet" : String(one.status.totalViolations),
    ]),
  );
}
