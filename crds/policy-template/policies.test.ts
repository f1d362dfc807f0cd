// Prepared constraints: by subject, taken over while nothing changed, from the rules in force.
import { expect, test } from "vitest";
import { CONSTRAINTS_GROUP } from "../groups.ts";
import { makeObject } from "../testing/objects.ts";
import type { Constraint } from "./constraint.ts";
import { preparePolicies } from "./policies.ts";
import { PolicyTemplate } from "./policy-template.ts";
import { readParameters } from "./parameters.ts";

const NOW = new Date("2026-06-01T00:00:00Z");
const rules = PolicyTemplate.spec.parse({
  kind: "Demo",
  title: "Demo",
  subjects: ["App", "Route"],
  parameters: {
    schema: {
      type: "object",
      required: ["max"],
      properties: { max: { type: "integer" }, min: { type: "integer", default: 1 } },
    },
  },
  rules: [{ expression: "true" }],
});
const template = makeObject(PolicyTemplate, "demo", {
  spec: rules,
  status: { inForce: { generation: 1, spec: rules } },
});

function aConstraint(spec: object = {}, generation = 1): Constraint {
  return {
    apiVersion: `${CONSTRAINTS_GROUP}/v1alpha1`,
    kind: "Demo",
    metadata: { name: "c", uid: "1", generation },
    spec: { enforcement: { action: "deny" }, ...spec },
  } as Constraint;
}

const prepare = (constraint: Constraint, more: object = {}) =>
  preparePolicies({ templates: [template], constraintsOf: () => [constraint], now: NOW, ...more });

test("a constraint is found by each subject of its template", () => {
  expect([...prepare(aConstraint()).bySubject.keys()]).toEqual(["App", "Route"]);
});

test("a template that never compiled has no constraints", () => {
  const broken = { ...template, status: {} };
  expect(preparePolicies({ templates: [broken], constraintsOf: () => [aConstraint()], now: NOW }).bySubject.size).toBe(
    0,
  );
});

test("a constraint that did not change is taken over", () => {
  const previous = prepare(aConstraint());
  const again = (constraint: Constraint): unknown => prepare(constraint, { previous }).byConstraint.get("Demo/c");
  expect(again(aConstraint())).toBe(previous.byConstraint.get("Demo/c"));
  expect(again(aConstraint({}, 2))).not.toBe(previous.byConstraint.get("Demo/c"));
});

test("it is prepared again when an exception has ended", () => {
  const except = [{ space: "acme/dev", reason: "x", until: "2026-06-02T00:00:00Z" }];
  const previous = prepare(aConstraint({ match: { except } }));
  expect(new Date(previous.expires).toISOString()).toBe("2026-06-02T00:00:00.000Z");
  const later = prepare(aConstraint({ match: { except } }), { previous, now: new Date("2026-06-03T00:00:00Z") });
  expect(later.byConstraint.get("Demo/c")).not.toBe(previous.byConstraint.get("Demo/c"));
  expect(later.expires).toBe(Infinity);
});

test("parameters get the schema's defaults, and a fault names its field", () => {
  expect(readParameters(rules, { max: 3 })).toEqual({ parameters: { max: 3, min: 1 } });
  expect(readParameters(rules, { max: "x" })).toMatchObject({
    fault: expect.stringContaining("spec.parameters.max: "),
  });
  expect(readParameters(rules, undefined)).toMatchObject({ fault: expect.stringContaining("spec.parameters.max: ") });
});

test("a bad regular expression is a fault of the parameters, wherever it stands", () => {
  const regex = { type: "string", maxLength: 9, format: "regex" };
  const labels = { type: "array", maxItems: 2, items: { type: "object", properties: { pattern: regex } } };
  const byName = { type: "object", maxProperties: 2, additionalProperties: regex };
  const schema = { type: "object", properties: { pattern: regex, labels, byName } };
  const faultOf = (parameters: object): unknown => readParameters({ ...rules, parameters: { schema } }, parameters);
  const good = { pattern: "(?i)^a+$", labels: [{ pattern: "a|b" }, {}], byName: { items: ".*" } };
  expect(faultOf(good)).toEqual({ parameters: good });
  expect(faultOf({ ...good, pattern: "(" })).toEqual({
    fault: expect.stringMatching(
      /^spec\.parameters\.pattern: must be a regular expression that RE2 takes: error parsing/,
    ),
  });
  expect(faultOf({ labels: [{}, { pattern: "[z-a]" }] })).toEqual({
    fault: expect.stringMatching(/^spec\.parameters\.labels\.1\.pattern: /),
  });
  expect(faultOf({ byName: { items: "(?=a)" } })).toEqual({
    fault: expect.stringMatching(/^spec\.parameters\.byName\.items: /),
  });
});

test("a schema that cannot be read is a fault of the parameters, and ends nothing", () => {
  const schema = { type: "object", properties: { max: { type: "string", pattern: "(?i)a" } } };
  const unreadable = { ...rules, parameters: { schema } };
  expect(readParameters(unreadable, { max: "a" })).toMatchObject({ fault: expect.stringContaining("cannot be read") });
  const old = { ...template, status: { inForce: { generation: 1, spec: unreadable } } };
  const constraint = aConstraint({ parameters: { max: "a" } });
  expect(preparePolicies({ templates: [old], constraintsOf: () => [constraint], now: NOW }).byConstraint.size).toBe(1);
});
