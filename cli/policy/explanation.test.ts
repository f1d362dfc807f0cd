// Why a constraint matches an object or not, and what it says about it.
import { describe, expect, test } from "vitest";
import { CONSTRAINTS_GROUP } from "../../crds/groups.ts";
import { Org } from "../../crds/org/org.ts";
import type { Constraint } from "../../crds/policy-template/constraint.ts";
import { toNamespaceLabels } from "../../crds/space/namespace-labels.ts";
import { PolicyTemplate } from "../../crds/policy-template/policy-template.ts";
import { anApp, makeObject } from "../../crds/testing/objects.ts";
import { presentExplanations } from "./explain.ts";
import { explainMatch } from "./explain-match.ts";
import { explainObject, type Explanation } from "./explanation.ts";

const now = new Date("2026-06-01T00:00:00Z");
const namespaceLabels = toNamespaceLabels({
  org: { name: "acme", labels: { tier: "gold" } },
  space: { name: "dev", labels: { env: "test" } },
});
const app = { object: anApp({}, { metadata: { labels: { team: "a" } } }), namespaceLabels, isPlaceKnown: true };

function aConstraint(spec: object = {}, name = "one"): Constraint {
  return {
    apiVersion: `${CONSTRAINTS_GROUP}/v1alpha1`,
    kind: "Demo",
    metadata: { name, generation: 1 },
    spec: { enforcement: { action: "deny" }, ...spec },
  } as Constraint;
}

const demo = (spec: object = {}): PolicyTemplate =>
  makeObject(PolicyTemplate, "demo", {
    spec: { kind: "Demo", title: "Demo", subjects: ["App"], rules: [{ expression: "false", message: "no" }], ...spec },
  });

describe("a match", () => {
  test.each<[string, object, string[]]>([
    ["everywhere", {}, []],
    ["in this space", { orgs: ["ac*"], spaces: ["acme/dev"], spaceLabels: { matchLabels: { env: "test" } } }, []],
    ["another org", { orgs: ["beta", "g*"] }, ["its org is acme, not beta or g*"]],
    ["another space", { spaces: ["acme/prod-*"] }, ["its space is acme/dev, not acme/prod-*"]],
    ["other labels of the org", { orgLabels: { matchLabels: { tier: "iron" } } }, ["not these org labels tier=iron"]],
    [
      "other labels of the space and the object",
      {
        spaceLabels: { matchExpressions: [{ key: "env", operator: "NotIn", values: ["test"] }] },
        objectLabels: { matchLabels: { team: "b" } },
      },
      ["not these space labels env NotIn test", "not these object labels team=b"],
    ],
    [
      "an exception of the space",
      { except: [{ space: "acme/dev", until: "2026-07-01T00:00:00Z", reason: "CHG-17" }] },
      ["exempt until 2026-07-01T00:00:00Z: CHG-17"],
    ],
    ["an exception that ended", { except: [{ space: "acme/dev", until: "2026-05-01T00:00:00Z", reason: "x" }] }, []],
    ["an exception of another object", { except: [{ space: "acme/dev", name: "other", reason: "x" }] }, []],
  ])("%s", (_what, match, expected) => {
    expect(explainMatch(aConstraint({ match }), app, now)).toEqual(expected);
  });

  test("an Org is in no space", () => {
    const org = { object: makeObject(Org, "acme", { spec: {} }), namespaceLabels: undefined, isPlaceKnown: true };
    expect(explainMatch(aConstraint({ match: { orgs: ["acme"], spaces: ["acme/*"] } }), org, now)).toEqual([
      "it is in no space",
    ]);
  });
});

describe("an explanation", () => {
  function explain(template: object, spec: object = {}, user?: string): Explanation | undefined {
    const policy = { template: demo(template), constraints: [aConstraint(spec)] };
    const caller = user === undefined ? undefined : { name: user, groups: [] };
    return explainObject([policy], app, { user: caller, now, list: () => [] }).explanations[0];
  }

  test.each<[string, object, object, Partial<Explanation>]>([
    ["a violation", {}, {}, { matches: true, sentences: ["Demo: no (policy one)"] }],
    ["a rule that holds", { rules: [{ expression: "true" }] }, {}, { matches: true, reasons: [], sentences: [] }],
    ["no match", {}, { match: { orgs: ["beta"] } }, { matches: false, sentences: [] }],
    ["a warning", {}, { enforcement: { action: "warn" } }, { action: "warn", sentences: ["Demo: no (policy one)"] }],
    [
      "another action at writes",
      {},
      { enforcement: { action: "deny", points: [{ point: "write", action: "dryrun" }] } },
      { action: "dryrun" },
    ],
    ["a rule about the user", { needs: ["user"] }, {}, { reasons: ["it depends on the user: add --as USER"] }],
    ["a rule about updates", { operations: ["UPDATE"] }, {}, { reasons: ["it judges updates only"] }],
    [
      "a rule about the object before",
      { needs: ["oldObject"] },
      {},
      { reasons: ["it compares with the object before the update"] },
    ],
  ])("of %s", (_what, template, spec, expected) => {
    expect(explain(template, spec)).toMatchObject(expected);
  });

  test("of a rule about the user, with --as", () => {
    const rules = [{ expression: "request.userInfo.username == 'ada'", message: "ada only" }];
    expect(explain({ needs: ["user"], rules }, {}, "ada")?.sentences).toEqual([]);
    expect(explain({ needs: ["user"], rules }, {}, "bob")?.sentences).toEqual(["Demo: ada only (policy one)"]);
  });
});

test("people read what refuses first, then what does not match, and the next step", () => {
  const constraints = [aConstraint({ match: { orgs: ["beta"] } }, "a"), aConstraint({}, "b")];
  const { json, text } = presentExplanations([
    explainObject([{ template: demo(), constraints }], app, { user: undefined, now, list: () => [] }),
  ]);
  expect(text).toEqual([
    "App/shop in acme-dev:",
    "constraint   action   enforced   verdict",
    "Demo/b       deny     Unknown    refuses it: Demo: no (policy b)",
    "Demo/a       deny     Unknown    does not match: its org is acme, not beta",
    "",
    "Next: change what the sentence names, or ask an operator for an exception; cup policy show demo/b",
  ]);
  expect(json).toMatchObject({
    verdict: { allowed: false, violations: [{ constraint: "b" }] },
    objects: [{ object: { kind: "App", namespace: "acme-dev", name: "shop" } }],
  });
});
