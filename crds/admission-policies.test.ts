// Faults in admission policies that kube-apiserver reports at run time only, or never.
import { expect, test } from "vitest";
import { listAdmissionPolicies } from "./admission-policies.ts";
import { MAX_AUTHORIZER_CHECKS } from "./admission-policy.ts";

interface PolicyObject {
  kind: string;
  metadata: { name: string };
  spec: {
    validations: { expression: string }[];
    variables?: { expression: string }[];
    matchConditions?: { expression: string }[];
  };
}

const policies = (listAdmissionPolicies() as unknown as PolicyObject[]).filter(
  ({ kind }) => kind === "ValidatingAdmissionPolicy",
);

test("names are unique, and every policy has its binding", () => {
  const names = policies.map(({ metadata }) => metadata.name);
  expect(new Set(names).size).toBe(names.length);
  expect(listAdmissionPolicies().length).toBe(2 * names.length);
});

test.each(policies.map((policy) => [policy.metadata.name, policy] as const))(
  "%s asks the authorizer no more than an expression can pay for",
  (_name, { spec }) => {
    const expressions = [...spec.validations, ...(spec.variables ?? []), ...(spec.matchConditions ?? [])].map(
      ({ expression }) => expression,
    );
    for (const expression of expressions)
      expect(expression.split(".check(").length - 1, expression).toBeLessThanOrEqual(MAX_AUTHORIZER_CHECKS);
  },
);
