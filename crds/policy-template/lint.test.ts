// Faults of templates: each is found before the template makes a kind, and says where and what to do.
import { expect, test } from "vitest";
import { templateFault } from "./lint.ts";
import { PolicyTemplate } from "./policy-template.ts";

const base = { kind: "Demo", title: "Demo", subjects: ["App"] };
const rules = [{ expression: "true" }];

const faultOf = (spec: object): string | undefined =>
  templateFault(PolicyTemplate.spec.parse({ ...base, rules, ...spec }))?.message;
const faultOfRule = (expression: string, spec: object = {}): string | undefined =>
  faultOf({ rules: [{ expression }], ...spec });

test.each<[string, string, object]>([
  ["parameters and the place", "variables.params.max > 1 && variables.org == 'acme' && variables.space != ''", {}],
  ["anyObject of Gatekeeper's dialect", "has(variables.anyObject.spec)", {}],
  ["the operation", "request.operation == 'CREATE'", {}],
  ["the caller, when needed", "request.userInfo.username == 'ada'", { needs: ["user"] }],
  ["the old object, when needed", "oldObject == null || oldObject.spec == object.spec", { needs: ["oldObject"] }],
  ["a variable", "variables.one == 1", { variables: [{ name: "one", expression: "1" }] }],
  ["other objects", "refs.tasks.size() < 3 && refs.tasks.all(t, t.metadata.name != '')", withReads()],
  ["a new function with its version", "!format.dns1123Label().validate('x').hasValue()", { minKubernetes: "1.34" }],
])("a rule may read %s", (_what, expression, spec) => {
  expect(faultOfRule(expression, spec)).toBeUndefined();
});

test.each<[string, object, string]>([
  ["syntax", { rules: [{ expression: "1 +" }] }, "spec.rules[0].expression: it does not compile"],
  ["a rule's type", { rules: [{ expression: "'yes'" }] }, "spec.rules[0].expression: must evaluate to bool"],
  [
    "a message's type",
    { rules: [{ expression: "true", messageExpression: "true" }] },
    "spec.rules[0].messageExpression: must evaluate to string",
  ],
  ["an unknown variable", { rules: [{ expression: "variables.nope" }] }, "undefined field 'nope'"],
  ["the authorizer", { rules: [{ expression: "authorizer != null" }] }, "authorizer is not known"],
  ["a fact of the request", { rules: [{ expression: "request.dryRun" }] }, "request.dryRun is not known"],
  ["the caller", { rules: [{ expression: "request.userInfo.username == ''" }] }, "add user to spec.needs"],
  ["the old object", { rules: [{ expression: "oldObject == null" }] }, "add oldObject to spec.needs"],
  ["the namespace", { rules: [{ expression: "namespaceObject == null" }] }, "read variables.org"],
  ["a kind of ours", { kind: "App" }, "App is the name of another kind"],
  ["a kind of Kubernetes", { kind: "Pod" }, "Pod is the name of another kind"],
  ["a list's name", { kind: "SizeLimitList" }, "ends in List"],
  ["a subject", { subjects: ["Pod"] }, "spec.subjects: Pod cannot be judged"],
  ["policy itself", { subjects: ["PolicyTemplate"] }, "PolicyTemplate cannot be judged"],
  ["a name of the platform", { variables: [{ name: "org", expression: "1" }] }, "org is the platform's"],
  [
    "a later variable",
    {
      variables: [
        { name: "a", expression: "variables.b" },
        { name: "b", expression: "1" },
      ],
    },
    "undefined field 'b'",
  ],
  [
    "a version",
    { rules: [{ expression: "!format.dns1123Label().validate('x').hasValue()" }] },
    "set spec.minKubernetes",
  ],
  ["an unknown read", { rules: [{ expression: "refs.nope.size() == 0" }], ...withReads() }, "undefined field 'nope'"],
  [
    "reads that are not declared",
    { rules: [{ expression: "refs.tasks.size() == 0" }] },
    "undeclared reference to 'refs'",
  ],
  ["reads of a kind that no gate holds", { subjects: ["Route"], ...withReads() }, "judge App, Droplet, Task alone"],
  ["reads with a caller", { needs: ["user"], ...withReads() }, "spec.needs: user is not known at the start of an app"],
  ["reads of updates alone", { operations: ["UPDATE"], ...withReads() }, "spec.operations: add CREATE"],
  ["a read of another kind", withReads({ kind: "Pod" }), "spec.reads[0]: kind: Pod cannot be read"],
  ["a read of a space's orgs", withReads({ kind: "Org" }), "no Org is in a space; use platform"],
  ["a read of a space's stacks", withReads({ kind: "Stack" }), "no Stack is in a space; use platform"],
  ["scale of other kinds", { scale: "true" }, "spec.scale: only templates for Process"],
  ["a schema without type", { parameters: { schema: {} } }, "type must be object"],
  ["a string without bound", withProperty({ type: "string" }), "properties.x: add maxLength"],
  [
    "a regular expression without bound",
    withProperty({ type: "string", format: "regex" }),
    "properties.x: add maxLength",
  ],
  ["a list without bound", withProperty({ type: "array", items: { type: "integer" } }), "properties.x: add maxItems"],
  [
    "a map without bound",
    withProperty({ type: "object", additionalProperties: { type: "integer" } }),
    "add maxProperties",
  ],
  [
    "a keyword",
    withProperty({ type: "integer", oneOf: [] }),
    "properties.x.oneOf: a schema of parameters has no such keyword",
  ],
  [
    "a pattern of Go alone",
    withProperty({ type: "string", maxLength: 9, pattern: "(?i)a" }),
    "do without flags such as",
  ],
  ["a pattern that is none", withProperty({ type: "string", maxLength: 9, pattern: "[" }), "properties.x.pattern: "],
])("refuses %s", (_what, spec, message) => {
  expect(faultOf(spec)).toContain(message);
});

function withReads(read: object = {}): object {
  return { reads: [{ as: "tasks", kind: "Task", scope: "space", ...read }] };
}

function withProperty(node: object): object {
  return { parameters: { schema: { type: "object", properties: { x: node } } } };
}
