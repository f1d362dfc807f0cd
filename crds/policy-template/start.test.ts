// Verdicts about starts: by constraints with reads and by those that name the point, in sentences.
import { expect, test, vi } from "vitest";
import { CONSTRAINTS_GROUP } from "../groups.ts";
import { toNamespaceLabels } from "../space/namespace-labels.ts";
import { aDroplet, anApp } from "../testing/objects.ts";
import type { Constraint } from "./constraint.ts";
import { preparePolicies } from "./policies.ts";
import { PolicyTemplate } from "./policy-template.ts";
import { makeObject } from "../testing/objects.ts";
import { judgeStart, type StartFacts } from "./start.ts";

const enforcement = { action: "deny" };
const atStart = { action: "dryrun", points: [{ point: "start", action: "deny" }] };

function policiesOf(spec: object, rules: object) {
  const template = PolicyTemplate.spec.parse({
    kind: "Demo",
    title: "Demo",
    subjects: ["App"],
    rules: [{ expression: "false", message: "no" }],
    ...rules,
  });
  const constraint = {
    apiVersion: `${CONSTRAINTS_GROUP}/v1alpha1`,
    kind: "Demo",
    metadata: { name: "c", generation: 1 },
    spec,
  } as Constraint;
  const status = { inForce: { generation: 1, spec: template } };
  const templates = [makeObject(PolicyTemplate, "demo", { spec: template, status })];
  return preparePolicies({ templates, constraintsOf: () => [constraint], now: new Date(0) });
}

const reads = { reads: [{ as: "droplets", kind: "Droplet", scope: "space" }] };
const facts: StartFacts = {
  namespaceLabels: toNamespaceLabels({ org: { name: "acme" }, space: { name: "dev" } }),
  list: () => [],
};
const judge = (spec: object, rules: object, given = facts) =>
  judgeStart(policiesOf(spec, rules), [anApp(), aDroplet()], () => given);

test.each<[string, object, object, object]>([
  ["a constraint with reads denies", { enforcement }, reads, { denied: ["Demo: no (policy c)"], undecided: [] }],
  ["one that names the point denies", { enforcement: atStart }, {}, { denied: ["Demo: no (policy c)"], undecided: [] }],
  ["one that does not name it is not asked", { enforcement }, {}, { denied: [], undecided: [] }],
  ["one that only warns is not asked", { enforcement: { action: "warn" } }, reads, { denied: [], undecided: [] }],
  [
    "a droplet is judged, too",
    { enforcement },
    { ...reads, subjects: ["Droplet"] },
    { denied: ["Demo: no (policy c)"], undecided: [] },
  ],
])("%s", (_what, spec, rules, expected) => {
  expect(judge(spec, rules)).toMatchObject(expected);
});

test("it is undecided without the objects, and without the labels of the namespace", () => {
  expect(judge({ enforcement }, reads, { ...facts, list: () => undefined })).toMatchObject({
    denied: [],
    undecided: [
      "Demo: cannot be decided now, since its Droplet objects cannot be read or are more than 1000 (policy c)",
    ],
  });
  expect(judge({ enforcement }, reads, { ...facts, namespaceLabels: undefined }).undecided).toEqual([
    expect.stringContaining("the labels of namespace acme-dev are not known"),
  ]);
});

test("without such a constraint nothing is asked for", () => {
  const asked = vi.fn(() => facts);
  judgeStart(policiesOf({ enforcement }, {}), [anApp()], asked);
  expect(asked).not.toHaveBeenCalled();
});
