// Violations on an App or a Space: those that deny first, in the words of a refusal, and nothing without a difference.
import { expect, test } from "vitest";
import type { App } from "../../crds/app/app.ts";
import { anApp } from "../../crds/testing/objects.ts";
import type { Action } from "../../crds/policy-template/constraint.ts";
import type { Violation } from "../../crds/policy-template/verdict.ts";
import { planShownViolations } from "./plan-shown-violations.ts";

const violation = (constraint: string, action: Action, kind = "App", name = "shop"): Violation => ({
  template: "Demo",
  constraint,
  generation: 1,
  action,
  rule: 0,
  message: "needs an owner",
  object: { kind, namespace: "acme-dev", name },
});
const appWith = (policyViolations?: object[]): App =>
  ({ ...anApp(), ...(policyViolations && { status: { policyViolations } }) }) as App;
const plan = (app: App, ...violations: Violation[]) => planShownViolations(app, violations, () => "Demo");
const shown = (constraint: string, action: Action, kind = "App", name = "shop") => ({
  constraint: `Demo/${constraint}`,
  action,
  kind,
  name,
  message: `Demo: needs an owner (policy ${constraint})`,
});

test("those that deny come first; the condition has the worst as its reason", () => {
  const given = [violation("a", "dryrun"), violation("b", "deny", "Process", "shop.web"), violation("c", "warn")];
  expect(plan(appWith(), ...given)).toEqual({
    status: {
      policyViolations: [shown("b", "deny", "Process", "shop.web"), shown("c", "warn"), shown("a", "dryrun")],
    },
    ready: {
      status: "False",
      reason: "PolicyDenies",
      isFailure: true,
      message:
        "Process shop.web: Demo: needs an owner (policy b); App shop: Demo: needs an owner (policy c) [only warns]; App shop: Demo: needs an owner (policy a) [only counted]",
    },
  });
  expect(plan(appWith(), violation("c", "warn")).ready).toMatchObject({ reason: "PolicyWarns" });
  expect(plan(appWith(), violation("c", "warn")).ready).not.toHaveProperty("isFailure");
});

test("nothing is written without a difference, or about an app that never broke a rule", () => {
  expect(plan(appWith())).toEqual({ keepStatus: true });
  expect(plan(appWith([shown("b", "deny")]), violation("b", "deny"))).toEqual({ keepStatus: true });
});

test("the end of the last violation is said", () => {
  expect(plan(appWith([shown("b", "deny")]))).toEqual({
    status: { policyViolations: undefined },
    ready: { status: "True", reason: "Complies", message: "it breaks no rule of operator policy" },
  });
});

test("20 are shown, and five sentences of the condition count the rest", () => {
  const { status, ready } = plan(appWith(), ...Array.from({ length: 30 }, (_, at) => violation(`c${at}`, "deny")));
  expect(status?.["policyViolations"]).toHaveLength(20);
  expect(ready?.message).toMatch(/\(policy c4\); and 25 more$/);
});
