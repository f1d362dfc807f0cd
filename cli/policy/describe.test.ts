// Constraints as lines, and names on the command line.
import { describe, expect, test } from "vitest";
import { CONSTRAINTS_GROUP } from "../../crds/groups.ts";
import type { Constraint } from "../../crds/policy-template/constraint.ts";
import { policyTemplateObjects } from "../../crds/policy-template/default-templates.ts";
import { PolicyTemplate } from "../../crds/policy-template/policy-template.ts";
import { makeObject } from "../../crds/testing/objects.ts";
import { askAbout } from "./delete.ts";
import { describeAction, describeEnforced, describeMatch } from "./describe.ts";
import { findPolicy } from "./find.ts";
import type { Policy } from "./live-policies.ts";
import { presentPolicies } from "./list.ts";
import { presentPolicy } from "./show.ts";

function aConstraint(kind: string, name: string, spec: object = {}, status?: object): Constraint {
  return {
    apiVersion: `${CONSTRAINTS_GROUP}/v1alpha1`,
    kind,
    metadata: { name },
    spec: { enforcement: { action: "deny" }, ...spec },
    ...(status && { status }),
  } as Constraint;
}

function aPolicy(kind: string, constraints?: Constraint[]): Policy {
  const object = policyTemplateObjects().find(({ spec }) => (spec as { kind: string }).kind === kind);
  const template = makeObject(PolicyTemplate, kind.toLowerCase(), { spec: object?.["spec"] as object });
  return { template, constraints };
}

test.each<[string, object | undefined, string]>([
  ["no match", undefined, "everywhere"],
  ["orgs and spaces", { orgs: ["acme"], spaces: ["acme/a", "acme/b*"] }, "org acme; space acme/a, acme/b*"],
  ["labels", { spaceLabels: { matchLabels: { env: "prod" } } }, "space labels env=prod"],
  [
    "expressions",
    {
      objectLabels: {
        matchExpressions: [
          { key: "a", operator: "In", values: ["x", "y"] },
          { key: "b", operator: "Exists" },
        ],
      },
    },
    "object labels a In x|y, b Exists",
  ],
  ["an exception", { except: [{ space: "acme/old", reason: "x" }] }, "everywhere; 1 exempt"],
])("where it holds, with %s", (_what, match, expected) => {
  expect(describeMatch(match as Parameters<typeof describeMatch>[0])).toBe(expected);
});

test("the action, with others at single points", () => {
  const enforcement = { action: "deny", points: [{ point: "ci", action: "warn" }] };
  expect(describeAction(aConstraint("SizeLimit", "small", { enforcement }))).toBe("deny (ci: warn)");
});

test("enforced says why it is not", () => {
  const conditions = [
    { type: "Enforced", status: "False", reason: "ReplicasLag", message: "1 of 3", lastTransitionTime: "" },
  ];
  expect(describeEnforced(aConstraint("SizeLimit", "small", {}, { conditions }))).toBe("False (ReplicasLag)");
  expect(describeEnforced(aConstraint("SizeLimit", "small"))).toBe("Unknown");
});

describe("a name on the command line", () => {
  const policies = [
    aPolicy("RequiredLabels", [aConstraint("RequiredLabels", "prod"), aConstraint("RequiredLabels", "owner")]),
    aPolicy("SizeLimit", [aConstraint("SizeLimit", "prod")]),
  ];

  test.each([
    ["sizelimit", "SizeLimit", undefined],
    ["SizeLimit", "SizeLimit", undefined],
    ["owner", "RequiredLabels", "owner"],
    ["sizelimit/prod", "SizeLimit", "prod"],
  ])("%s", (name, kind, constraint) => {
    const found = findPolicy(policies, name);
    expect([found.policy.template.spec.kind, found.constraint?.metadata.name]).toEqual([kind, constraint]);
  });

  test("two constraints of one name ask for the kind", () => {
    expect(() => findPolicy(policies, "prod")).toThrow(
      "2 constraints are called prod: RequiredLabels/prod, SizeLimit/prod",
    );
  });

  test("the question before a deletion names the constraints", () => {
    expect(askAbout(findPolicy(policies, "requiredlabels"))).toBe(
      "Delete template requiredlabels and its 2 constraints: RequiredLabels/prod, RequiredLabels/owner?",
    );
  });
});

test("a violation is one sentence, as the status has it, and the rest is counted", () => {
  const message = "Required labels: needs the label owner (policy owner)";
  const violations = [{ kind: "App", namespace: "acme-prod", name: "shop", action: "deny", message }];
  const constraint = aConstraint("RequiredLabels", "owner", {}, { violations, totalViolations: 31 });
  const { text } = presentPolicy({ policy: aPolicy("RequiredLabels", [constraint]), constraint }, new Date(0));
  expect(text.join("\n")).toMatch(
    /^App\/shop +acme-prod +Required labels: needs the label owner \(policy owner\)\nand 30 more$/m,
  );
});

test("a name that others wrote cannot move the cursor", () => {
  const policy = aPolicy("SizeLimit", [aConstraint("SizeLimit", "x", { match: { orgs: ["a\u001b[2J"] } })]);
  expect(presentPolicies([policy]).text.join("\n")).not.toContain("\u001b[2J");
});
