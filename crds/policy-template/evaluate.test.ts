// Verdicts: where a constraint matches, at which point, and with which words.
import { describe, expect, test } from "vitest";
import { CONSTRAINTS_GROUP } from "../groups.ts";
import { anApp, makeObject } from "../testing/objects.ts";
import { Org } from "../org/org.ts";
import { Space } from "../space/space.ts";
import type { Constraint } from "./constraint.ts";
import { evaluate, prepareConstraint, type Review } from "./evaluate.ts";
import { nextExceptionEnd } from "./match-expressions.ts";
import { toNamespaceLabels } from "../space/namespace-labels.ts";
import { PolicyTemplate, type PolicyTemplateSpec } from "./policy-template.ts";
import { toSentence, type Verdict } from "./verdict.ts";

const NOW = new Date("2026-06-01T00:00:00Z");

const never: PolicyTemplateSpec = PolicyTemplate.spec.parse({
  kind: "Never",
  title: "Never",
  subjects: ["App", "Org", "Space"],
  rules: [{ expression: "false", message: "no", field: "spec" }],
});

function aConstraint(spec: object, name = "c"): Constraint {
  return {
    apiVersion: `${CONSTRAINTS_GROUP}/v1alpha1`,
    kind: "Never",
    metadata: { name, generation: 3 },
    spec: { enforcement: { action: "deny" }, ...spec },
  } as Constraint;
}

const namespaceLabels = toNamespaceLabels({
  org: { name: "acme", labels: { tier: "gold" } },
  space: { name: "prod-eu", labels: { env: "production", "example.com/owner": "ada" } },
});

function judge(spec: object, review: Partial<Review> = {}, template: PolicyTemplateSpec = never): Verdict {
  const one = prepareConstraint(template, aConstraint(spec), NOW);
  return evaluate([one], { point: "write", operation: "CREATE", object: anApp(), namespaceLabels, ...review });
}

const matches = (match: object, review: Partial<Review> = {}): boolean => !judge({ match }, review).allowed;

test("a violation has the same JSON at every door", () => {
  const verdict = judge({});
  expect(verdict).toEqual({
    allowed: false,
    violations: [
      {
        template: "Never",
        constraint: "c",
        generation: 3,
        action: "deny",
        rule: 0,
        field: "spec",
        message: "no",
        object: { kind: "App", namespace: "acme-dev", name: "shop" },
      },
    ],
    skipped: [],
    unknown: [],
  });
  expect(toSentence("Never", { message: "no", constraint: "c" })).toBe("Never: no (policy c)");
});

describe("an app in acme/prod-eu", () => {
  test.each<[object, boolean]>([
    [{}, true],
    [{ orgs: ["acme"] }, true],
    [{ orgs: ["other", "ac*"] }, true],
    [{ orgs: ["*me"] }, true],
    [{ orgs: ["other"] }, false],
    [{ spaces: ["acme/prod-*"] }, true],
    [{ spaces: ["acme/prod"] }, false],
    [{ spaces: ["*/prod-eu"] }, true],
    [{ orgs: ["acme"], spaces: ["other/*"] }, false],
    [{ orgLabels: { matchLabels: { tier: "gold" } } }, true],
    [{ orgLabels: { matchExpressions: [{ key: "tier", operator: "NotIn", values: ["gold"] }] } }, false],
    [{ spaceLabels: { matchLabels: { "example.com/owner": "ada" } } }, true],
    [{ spaceLabels: { matchExpressions: [{ key: "env", operator: "Exists" }] } }, true],
    [{ spaceLabels: { matchExpressions: [{ key: "nope", operator: "DoesNotExist" }] } }, true],
    [{ spaceLabels: { matchExpressions: [{ key: "env", operator: "In", values: [] }] } }, false],
    [{ objectLabels: { matchLabels: { a: "b" } } }, false],
    [{ except: [{ space: "acme/prod-eu", reason: "x" }] }, false],
    [{ except: [{ space: "acme/prod-eu", name: "shop", reason: "x" }] }, false],
    [{ except: [{ space: "acme/prod-eu", name: "other", reason: "x" }] }, true],
    [{ except: [{ space: "acme/prod-eu", reason: "x", until: "2026-05-31T00:00:00Z" }] }, true],
    [{ except: [{ space: "acme/prod-eu", reason: "x", until: "2026-06-02T00:00:00Z" }] }, false],
  ])("is matched by %j: %s", (match, expected) => {
    expect(matches(match)).toBe(expected);
  });
});

test("a long name matches by its short form in labels, and as it is on an Org and a Space", () => {
  const [org, space] = ["o".repeat(70), "s".repeat(70)];
  const [inSpace, inOrg] = [
    { namespaceLabels: toNamespaceLabels({ org: { name: org }, space: { name: space } }) },
    {
      object: makeObject(Space, space, { spec: {}, metadata: {} }),
      namespaceLabels: toNamespaceLabels({ org: { name: org } }),
    },
  ];
  for (const review of [inSpace, inOrg]) {
    expect(matches({ orgs: [org], spaces: [`${org}/${space}`] }, review)).toBe(true);
    expect(matches({ spaces: [`${org}/${space}x`] }, review)).toBe(false);
    expect(matches({ except: [{ space: `${org}/${space}`, reason: "x" }] }, review)).toBe(false);
  }
  const anOrg = { object: makeObject(Org, org, { spec: {} }), namespaceLabels: undefined };
  expect(matches({ orgs: [org] }, anOrg)).toBe(true);
});

test("an Org is in itself and in no space; a Space is in its org", () => {
  const org = {
    object: makeObject(Org, "acme", { spec: {}, metadata: { labels: { tier: "gold" } } }),
    namespaceLabels: undefined,
  };
  const object = makeObject(Space, "prod", { spec: {}, metadata: { labels: { env: "production" } } });
  const space = { object, namespaceLabels: toNamespaceLabels({ org: { name: "acme" } }) };
  expect(matches({ orgs: ["acme"], orgLabels: { matchLabels: { tier: "gold" } } }, org)).toBe(true);
  expect(matches({ spaces: ["acme/*"] }, org)).toBe(false);
  expect(matches({ spaces: ["acme/prod"], spaceLabels: { matchLabels: { env: "production" } } }, space)).toBe(true);
});

test("an exception's end is the next time to compile at", () => {
  const except = ["2026-07-01T00:00:00Z", "2026-06-15T00:00:00Z", "2026-01-01T00:00:00Z"].map((until) => ({ until }));
  expect(nextExceptionEnd({ except } as never, NOW)?.toISOString()).toBe("2026-06-15T00:00:00.000Z");
  expect(nextExceptionEnd({}, NOW)).toBeUndefined();
});

describe("an update", () => {
  const started = anApp({ state: "Started" });
  const update = (object: object, oldObject: object): boolean =>
    judge({}, { operation: "UPDATE", object: object as never, oldObject: oldObject as never }).allowed;

  test("that changes nothing that people write is not judged", () => {
    expect(update({ ...started, status: { url: "x" } }, started)).toBe(true);
  });

  test("that makes labels and annotations empty where there were none is not judged", () => {
    expect(update({ ...started, metadata: { ...started.metadata, labels: {}, annotations: {} } }, started)).toBe(true);
  });

  test("that only stops an app is not judged", () => {
    expect(update(anApp({ state: "Stopped" }), started)).toBe(true);
  });

  test("that stops an app and changes more is judged", () => {
    expect(update(anApp({ state: "Stopped", restart: "1" }), started)).toBe(false);
    expect(update(anApp({ state: "Stopped" }, { metadata: { labels: { a: "b" } } }), started)).toBe(false);
  });

  test("of the annotations of a stopped app is judged", () => {
    const stopped = anApp({ state: "Stopped" });
    expect(update(anApp({ state: "Stopped" }, { metadata: { annotations: { a: "b" } } }), stopped)).toBe(false);
    // A manifest that stops an app may change an annotation of its tool.
    expect(update(anApp({ state: "Stopped" }, { metadata: { annotations: { a: "b" } } }), started)).toBe(true);
  });

  test("that starts an app is judged", () => {
    expect(update(started, anApp({ state: "Stopped" }))).toBe(false);
  });

  test("of an object under deletion is not judged", () => {
    const metadata = { deletionTimestamp: "2026-01-01T00:00:00Z" };
    expect(update(anApp({ restart: "1" }, { metadata }), started)).toBe(true);
  });
});

test("a point may have an action of its own", () => {
  const enforcement = { action: "deny", points: [{ point: "ci", action: "warn" }] };
  expect(judge({ enforcement }, { point: "ci" }).violations[0]?.action).toBe("warn");
  expect(judge({ enforcement }, { point: "ci" }).allowed).toBe(true);
  expect(judge({ enforcement }).allowed).toBe(false);
});

test("a point without the facts that a template needs skips it", () => {
  const needs = { ...never, needs: ["user", "oldObject"] } as PolicyTemplateSpec;
  expect(judge({}, { point: "audit" }, needs)).toEqual({
    allowed: true,
    violations: [],
    skipped: ["Never/c"],
    unknown: [],
  });
  expect(judge({}, { user: { name: "ada", groups: [] } }, needs).allowed).toBe(false);
});

test("a rule that cannot be evaluated denies and says so", () => {
  const faulty = { ...never, rules: [{ expression: "object.spec.nope == 1" }] };
  const [violation] = judge({}, {}, faulty).violations;
  expect(violation?.message).toContain("no such key: nope");
});

test("a message that fails gives the fallback", () => {
  const rules = [{ expression: "false", messageExpression: "object.spec.nope", message: "the fallback" }];
  expect(judge({}, {}, { ...never, rules }).violations[0]?.message).toBe("the fallback");
});

test("violations are sorted by constraint", () => {
  const prepared = ["b", "a"].map((name) => prepareConstraint(never, aConstraint({}, name), NOW));
  const { violations } = evaluate(prepared, { point: "write", operation: "CREATE", object: anApp(), namespaceLabels });
  expect(violations.map(({ constraint }) => constraint)).toEqual(["a", "b"]);
});
