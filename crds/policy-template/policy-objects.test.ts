// Policies of constraints: their names and actions, the namespaces that they select, and the one for kubectl scale.
import { describe, expect, test } from "vitest";
import { selectorMatches } from "../../kube/api/label-selector.ts";
import type { Policy } from "../../kube/admission/policy/types.ts";
import { CONSTRAINTS_GROUP } from "../groups.ts";
import type { Constraint } from "./constraint.ts";
import { namespaceSelector } from "./namespace-selector.ts";
import { toNamespaceLabels } from "../space/namespace-labels.ts";
import { toConstraintPolicies } from "./policy-objects.ts";
import { PolicyTemplate } from "./policy-template.ts";

const template = (more: object) =>
  PolicyTemplate.spec.parse({
    kind: "Demo",
    title: "Demo",
    subjects: ["App"],
    rules: [{ expression: "true" }],
    ...more,
  });

const aConstraint = (spec: object) =>
  ({
    apiVersion: `${CONSTRAINTS_GROUP}/v1alpha1`,
    kind: "Demo",
    metadata: { name: "c" },
    spec: { enforcement: { action: "deny" }, ...spec },
  }) as Constraint;

const policiesOf = (more: object, spec: object = {}): Policy[] =>
  toConstraintPolicies(template(more), aConstraint(spec), new Date(0)) as Policy[];

test("a policy and a binding have the constraint's name and action", () => {
  const [policy, binding] = policiesOf({}, { enforcement: { action: "warn" } });
  expect(policy?.metadata.name).toBe("demo.c.constraints.cupola.dev");
  expect(binding?.spec).toEqual({ policyName: "demo.c.constraints.cupola.dev", validationActions: ["Warn"] });
});

test("subjects outside of spaces have a policy without a namespaceSelector, which does not judge those inside", () => {
  const policies = policiesOf({ subjects: ["App", "Org"] }).filter(({ kind }) => kind === "ValidatingAdmissionPolicy");
  const shown = policies.map(({ metadata, spec }) => {
    const { namespaceSelector, resourceRules = [] } = spec.matchConstraints ?? {};
    return [metadata.name.split(".")[0], resourceRules[0]?.resources, namespaceSelector !== undefined];
  });
  expect(shown).toEqual([
    ["demo", ["apps"], true],
    ["places", ["orgs"], false],
  ]);
});

describe("kubectl scale", () => {
  test("has a policy for deny on a Process alone", () => {
    expect(policiesOf({ subjects: ["Process"] })).toHaveLength(4);
    expect(policiesOf({ subjects: ["Process"] }, { enforcement: { action: "warn" } })).toHaveLength(2);
    expect(policiesOf({ subjects: ["App"] })).toHaveLength(2);
  });

  test("is matched whatever the labels of the Process, which a Scale does not have", () => {
    const match = { orgs: ["acme"], objectLabels: { matchLabels: { a: "b" } } };
    const matches = policiesOf({ subjects: ["Process"] }, { match }).flatMap(
      ({ spec }) => spec.variables?.find(({ name }) => name === "matches")?.expression ?? [],
    );
    expect(matches).toEqual([expect.stringContaining("'a' in"), "(variables.org == 'acme')"]);
  });
});

test("a rule for kubectl scale reads 0 where a Scale has no replicas", () => {
  const scale = "has(object.spec.replicas) && object.spec.replicas <= 3";
  const [, , policy] = policiesOf({ subjects: ["Process"], scale });
  expect(policy?.spec.validations?.[0]?.expression).toBe(
    "!variables.matches || (has(object.spec.replicas) && (has(object.spec.replicas) ? object.spec.replicas : 0) <= 3)",
  );
});

describe("the namespaceSelector", () => {
  const long = "o".repeat(70);
  const place = toNamespaceLabels({
    org: { name: long, labels: { tier: "gold" } },
    space: { name: "dev", labels: { "example.com/owner": "ada" } },
  });

  test.each<[string, object, boolean]>([
    ["everywhere", {}, true],
    ["an org with a long name", { orgs: [long] }, true],
    ["another org", { orgs: ["acme"] }, false],
    ["a pattern", { orgs: ["acme", "o*"] }, true],
    ["its space", { spaces: [`${long}/dev`] }, true],
    ["a pattern of spaces in its org", { spaces: [`${long}/p*`, `${long}/dev`] }, true],
    ["another space", { spaces: [`${long}/prod`] }, false],
    ["spaces of another org", { spaces: ["acme/*", "beta/dev"] }, false],
    ["spaces of any org", { spaces: ["acme/*", "*/dev"] }, true],
    ["a pattern with the end of the org", { spaces: ["oo*", "*"] }, true],
    ["labels", { orgLabels: { matchLabels: { tier: "gold" } } }, true],
    ["other labels", { spaceLabels: { matchLabels: { "example.com/owner": "eve" } } }, false],
  ])("of %s", (_, match, expected) => {
    expect(selectorMatches(namespaceSelector(match), place)).toBe(expected);
  });

  test.each<object>([
    { key: "tier", operator: "In", values: [] },
    { key: "tier", operator: "NotIn" },
    { key: "tier", operator: "NotIn", values: ["not a label"] },
    { key: "it's", operator: "Exists" },
    { key: "Not.A.Domain/tier", operator: "Exists" },
    { key: `${"long.".repeat(50)}com/tier`, operator: "DoesNotExist" },
    { key: "a/b/c", operator: "Exists" },
  ])("leaves out %j, which Kubernetes takes in no selector", (requirement) => {
    const { matchExpressions } = namespaceSelector({ orgLabels: { matchExpressions: [requirement as never] } });
    expect(matchExpressions).toEqual([{ key: "cupola.dev/space", operator: "Exists" }]);
  });

  test("names no values for Exists", () => {
    const match = { spaceLabels: { matchExpressions: [{ key: "a", operator: "Exists" as const, values: ["x"] }] } };
    expect(namespaceSelector(match).matchExpressions?.[1]).toEqual({ key: "space.cupola.dev/a", operator: "Exists" });
  });
});
