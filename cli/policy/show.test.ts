// A constraint as `cup policy show` prints it.
import { expect, test } from "vitest";
import { CONSTRAINTS_GROUP } from "../../crds/groups.ts";
import type { Constraint } from "../../crds/policy-template/constraint.ts";
import { PolicyTemplate } from "../../crds/policy-template/policy-template.ts";
import { makeObject } from "../../crds/testing/objects.ts";
import { presentPolicy } from "./show.ts";

const SENTENCE = "Owner: needs the label owner (policy owner)";
const spec = { kind: "Owned", title: "Owner", subjects: ["App"], rules: [{ expression: "false" }] };
const constraint = (status?: object): Constraint =>
  ({
    apiVersion: `${CONSTRAINTS_GROUP}/v1alpha1`,
    kind: "Owned",
    metadata: { name: "owner" },
    spec: { enforcement: { action: "deny" } },
    ...(status && { status }),
  }) as Constraint;

function linesOf(status?: object): string[] {
  const template = makeObject(PolicyTemplate, "owned", { spec });
  return presentPolicy({ policy: { template }, constraint: constraint(status) }, new Date(0)).text;
}

test("a violation's sentence stands there once, as its status has it", () => {
  const violation = { kind: "App", namespace: "acme-dev", name: "shop", action: "deny", message: SENTENCE };
  const lines = linesOf({ violations: [violation], totalViolations: 3 });
  expect(lines.filter((line) => line.includes("App/shop"))).toEqual([
    expect.stringMatching(/^App\/shop +acme-dev +Owner: needs the label owner \(policy owner\)$/),
  ]);
  expect(lines.at(-1)).toBe("and 2 more");
});

test("without violations, and before the audit, it says so", () => {
  expect(linesOf({ violations: [], totalViolations: 0 }).at(-1)).toBe("No stored object violates it.");
  expect(linesOf().at(-1)).toBe("Not audited yet.");
});
