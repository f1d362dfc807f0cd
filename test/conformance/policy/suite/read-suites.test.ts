// The reader of Gatekeeper's suites, by a small suite of our own: assertions that hold, and ones that must fail.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { judgeSuites } from "./judge-suites.ts";
import { holds, readSuites, type Assertion } from "./read-suites.ts";

const template = (engine: string) => `
spec:
  crd: {spec: {names: {kind: FewContainers}, validation: {openAPIV3Schema: {type: object, properties: {max: {type: integer}}}}}}
  targets:
  - code:
    - engine: ${engine}
      source:
        variables: [{name: count, expression: "size(object.spec.containers)"}]
        validations:
        - expression: "request.operation == 'UPDATE' || variables.count <= variables.params.max"
          messageExpression: "'has ' + string(variables.count) + ' containers'"
`;
const files: Record<string, string> = {
  "few/template.yaml": template("K8sNativeValidation"),
  "few/rego.yaml": template("Rego"),
  "few/constraint.yaml": `
metadata: {name: c}
spec: {match: {kinds: [{kinds: [Pod]}]}, parameters: {max: 1}}`,
  "few/two.yaml": "{apiVersion: v1, kind: Pod, metadata: {name: two}, spec: {containers: [{}, {}]}}",
  "few/update.yaml": `
kind: AdmissionReview
request: {operation: UPDATE, object: {apiVersion: v1, kind: Pod, metadata: {name: two}, spec: {containers: [{}, {}]}}}`,
  "few/suite.yaml": `
tests:
- name: of-rego
  template: rego.yaml
  constraint: constraint.yaml
  cases: []
- name: one-at-most
  template: template.yaml
  constraint: constraint.yaml
  cases:
  - {name: two, object: two.yaml, assertions: [{}, {violations: 1, message: "has \\\\d containers"}, {violations: no}]}
  - {name: update, object: update.yaml, assertions: [{violations: no}]}`,
};

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "cupola-suite-"));
  mkdirSync(join(folder, "few"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("assertions are counted; one that fails is told with the messages", async () => {
  const { rows, faults } = await judgeSuites(readSuites(folder));
  expect(rows).toEqual([{ suite: "few", tests: 1, assertions: 4, passed: 3 }]);
  expect(faults).toEqual(['few one-at-most two: wanted {"violations":"no"}, got ["has 2 containers"]']);
});

test.each<[Assertion, string[], boolean]>([
  [{ violations: "yes" }, ["a"], true],
  [{ violations: "yes", message: "b" }, ["a"], false],
  [{ violations: "no", message: "b" }, ["a"], true],
  [{ violations: 1 }, ["a", "b"], false],
  [{ violations: 0 }, [], true],
])("%j about %j: %s", (assertion, messages, expected) => {
  expect(holds(assertion, messages)).toBe(expected);
});
