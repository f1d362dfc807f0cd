// `cup policy test` on the objects of the policy suite: the verdict about a file is, as JSON, the evaluator's about the stored object.
import { expect, test } from "vitest";
import { stringify } from "yaml";
import { judge } from "../../../cli/policy/testing/judge-files.ts";
import { policyTemplateObjects } from "../../../crds/policy-template/default-templates.ts";
import { evaluate } from "../../../crds/policy-template/evaluate.ts";
import { PolicyTemplate, type PolicyTemplateSpec } from "../../../crds/policy-template/policy-template.ts";
import { joinVerdicts } from "../../../crds/policy-template/verdict.ts";
import { constrain, NAMESPACES } from "./places.ts";
import { SHIPPED_CASES } from "./shipped-cases.ts";

const templates = new Map(
  policyTemplateObjects().map(({ spec }) => {
    const parsed: PolicyTemplateSpec = PolicyTemplate.spec.parse(spec);
    return [parsed.kind, parsed];
  }),
);

/** All constraints of the suite, each by its number. */
const constraints = SHIPPED_CASES.map(({ kind, parameters }, at) => {
  const template = templates.get(kind);
  if (!template) throw new Error(`no template ${kind}`);
  return constrain(template, `case-${at}`, { parameters });
});
const policies = constraints.map(({ constraint: { apiVersion, kind, metadata, spec } }) => ({
  apiVersion,
  kind,
  metadata: { name: metadata.name },
  spec,
}));

test.each(SHIPPED_CASES.flatMap(({ kind, good, bad }, at) => [good, bad].map((object) => ({ kind, at, object }))))(
  "$kind $at",
  async ({ object }) => {
    const namespaceLabels = NAMESPACES.get(object.metadata.namespace ?? "");
    const stored = evaluate(constraints, { point: "ci", operation: "CREATE", object, namespaceLabels });
    const { json } = await judge(policies, [object], { org: "acme", space: "dev" });
    expect(json, stringify(object)).toEqual(stored);
  },
);

test("all objects in one run get the joined verdict", async () => {
  const objects = SHIPPED_CASES.map(({ bad }) => bad);
  const verdicts = objects.map((object) =>
    evaluate(constraints, {
      point: "ci",
      operation: "CREATE",
      object,
      namespaceLabels: NAMESPACES.get(object.metadata.namespace ?? ""),
    }),
  );
  const { json, exitCode } = await judge(policies, objects, { org: "acme", space: "dev" });
  expect(exitCode).toBe(1);
  expect(json).toEqual(joinVerdicts(verdicts));
});
