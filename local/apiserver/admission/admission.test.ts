// Policies as people write them, over a store in memory.
import { beforeEach, describe, expect, it } from "vitest";
import type { KubeObject } from "../../../kube/api/object.ts";
import type { AdmissionRequest, AdmissionResult, AttributesRecord, PolicyAdmission } from "../types.ts";
import { createMemoryStore, type MemoryStore } from "../testing/memory-store.ts";
import { createPolicyAdmission } from "./admission.ts";
import { checkPolicy } from "./check.ts";
import type { BindingSpec, Policy, PolicySpec } from "../../../kube/admission/policy/types.ts";

const group = "admissionregistration.k8s.io";
let store: MemoryStore;
let admission: PolicyAdmission;
let asked: AttributesRecord[];

beforeEach(() => {
  asked = [];
  store = createMemoryStore({
    "/ConfigMap": { gvr: { group: "", version: "v1", resource: "configmaps" }, namespaced: true },
    "example.org/Flag": { gvr: { group: "example.org", version: "v1", resource: "flags" }, namespaced: false },
  });
  admission = createPolicyAdmission({
    reader: store.reader,
    authorize: (attributes) => {
      asked.push(attributes);
      return { allowed: attributes.user.name === "boss", reason: "because" };
    },
  });
});

const things: PolicySpec["matchConstraints"] = {
  resourceRules: [{ apiGroups: ["example.org"], apiVersions: ["*"], operations: ["*"], resources: ["things"] }],
};

function policy(spec: PolicySpec, binding: Partial<BindingSpec> = {}): void {
  const name = "p";
  store.put(group, "validatingadmissionpolicies", {
    apiVersion: `${group}/v1`,
    kind: "ValidatingAdmissionPolicy",
    metadata: { name },
    spec: { matchConstraints: things, ...spec },
  } as KubeObject);
  store.put(group, "validatingadmissionpolicybindings", {
    apiVersion: `${group}/v1`,
    kind: "ValidatingAdmissionPolicyBinding",
    metadata: { name: "b" },
    spec: { policyName: name, validationActions: ["Deny"], ...binding },
  } as KubeObject);
}

function thing(spec: object, labels?: Record<string, string>): KubeObject {
  return {
    apiVersion: "example.org/v1",
    kind: "Thing",
    metadata: { name: "x", namespace: "ns", ...(labels && { labels }) },
    spec,
  } as KubeObject;
}

const namespaceObject = {
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name: "ns", labels: { tier: "gold" } },
} as KubeObject;

function request(more: Partial<AdmissionRequest> = {}): AdmissionRequest {
  return {
    operation: "CREATE",
    user: { name: "alice", groups: ["dev"] },
    gvr: { group: "example.org", version: "v1", resource: "things" },
    gvk: { group: "example.org", version: "v1", kind: "Thing" },
    subresource: "",
    namespace: "ns",
    name: "x",
    object: thing({ n: 1 }),
    dryRun: false,
    namespaceObject,
    ...more,
  };
}

const admit = async (more: Partial<AdmissionRequest> = {}): Promise<AdmissionResult> =>
  await admission.admit(request(more));
async function message(more: Partial<AdmissionRequest> = {}): Promise<string | undefined> {
  const result = await admit(more);
  return result.allowed ? undefined : result.status.message;
}
const denied = (text: string) =>
  `things.example.org "x" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: ${text}`;

describe("a policy that is made or changed", () => {
  const no = { validations: [{ expression: "false", message: "no" }] };
  it("judges the next write of a kind that was written before", async () => {
    expect(await message()).toBeUndefined();
    policy(no);
    expect(await message()).toBe(denied("no"));
    expect(await message({ subresource: "status" })).toBeUndefined();
    const rule = { apiGroups: ["example.org"], apiVersions: ["*"], operations: ["UPDATE"] };
    policy({ ...no, matchConstraints: { resourceRules: [{ ...rule, resources: ["things/status"] }] } });
    expect(await message()).toBeUndefined();
    expect(await message({ operation: "UPDATE", subresource: "status" })).toBe(denied("no"));
    expect(await message({ operation: "CREATE", subresource: "status" })).toBeUndefined();
    policy({ ...no, matchConstraints: { resourceRules: [{ ...rule, resources: ["*/*"] }] } });
    expect(await message({ operation: "UPDATE" })).toBe(denied("no"));
  });
});

describe("a refusal", () => {
  it("has the shape of the real one", async () => {
    policy({ validations: [{ expression: "object.spec.n > 5", message: "too few" }] });
    const text = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: too few";
    expect(await admit()).toEqual({
      allowed: false,
      warnings: [],
      status: {
        kind: "Status",
        apiVersion: "v1",
        metadata: {},
        status: "Failure",
        message: `things.example.org "x" is forbidden: ${text}`,
        reason: "Invalid",
        details: { name: "x", group: "example.org", kind: "things", causes: [{ message: text }] },
        code: 422,
      },
    });
  });
  it.each<[string, object, string, string, number]>([
    ["reason", { expression: "false", reason: "Forbidden" }, "failed expression: false", "Forbidden", 403],
    [
      "message expression",
      { expression: "object.spec.n > 5", messageExpression: "'n is ' + string(object.spec.n)", message: "m" },
      "n is 1",
      "Invalid",
      422,
    ],
    [
      "broken message expression",
      { expression: "false", messageExpression: "string(object.zzz)", message: "m" },
      "m",
      "Invalid",
      422,
    ],
    [
      "fault",
      { expression: "object.spec.zzz > 5" },
      "expression 'object.spec.zzz > 5' resulted in error: no such key: zzz",
      "Invalid",
      422,
    ],
  ])("by %s", async (...[, validation, text, reason, code]) => {
    policy({ validations: [validation as { expression: string }] });
    const result = await admit();
    expect(result.allowed).toBe(false);
    if (!result.allowed) expect(result.status).toMatchObject({ message: denied(text), reason, code });
  });
});

describe("what expressions see", () => {
  it.each<[string, Partial<AdmissionRequest>]>([
    ["object.spec.n == 1 && oldObject == null", {}],
    [
      "oldObject.spec.n == 2 && object == null && request.operation == 'DELETE'",
      { operation: "DELETE", object: undefined, oldObject: thing({ n: 2 }) },
    ],
    ["request.userInfo.username == 'alice' && 'dev' in request.userInfo.groups", {}],
    [
      "request.kind.kind == 'Thing' && request.resource.resource == 'things' && request.requestKind.group == 'example.org'",
      {},
    ],
    ["request.name == 'x' && request.namespace == 'ns' && !has(request.subResource) && !request.dryRun", {}],
    ["!has(request.namespace)", { namespace: "", namespaceObject: undefined }],
    ["namespaceObject.metadata.labels.tier == 'gold'", {}],
    ["namespaceObject == null", { namespace: "", namespaceObject: undefined }],
    ["object.metadata.?labels.?a.orValue('none') == 'none'", {}],
    [
      "!authorizer.group('example.org').resource('things').subresource('env').namespace(request.namespace).name(request.name).check('update').allowed()",
      {},
    ],
    ["authorizer.requestResource.check('get').reason() == 'because'", {}],
    ["!authorizer.path('/metrics').check('get').allowed()", {}],
    ["authorizer.serviceAccount('ns', 'bot').group('').resource('pods').check('get').errored() == false", {}],
  ])("%s", async (expression, more) => {
    policy({ validations: [{ expression }] });
    expect(await message(more)).toBeUndefined();
  });
  it("asks the authorizer about the request's own user", async () => {
    policy({
      validations: [
        {
          expression:
            "authorizer.group('example.org').resource('things').subresource('env').namespace(request.namespace).name(request.name).check('update').allowed()",
        },
      ],
    });
    expect(await message({ user: { name: "boss", groups: [] } })).toBeUndefined();
    expect(await message()).toContain("failed expression");
    expect(asked[1]).toMatchObject({
      user: { name: "alice" },
      verb: "update",
      group: "example.org",
      resource: "things",
      subresource: "env",
      namespace: "ns",
      name: "x",
    });
  });
  it("variables, once, in terms of each other", async () => {
    policy({
      variables: [
        { name: "n", expression: "object.spec.n" },
        { name: "double", expression: "variables.n * 2" },
      ],
      validations: [
        { expression: "variables.double == 3", messageExpression: "'double is %d'.format([variables.double])" },
      ],
    });
    expect(await message()).toBe(denied("double is 2"));
  });
});

describe("which requests", () => {
  it.each<[string, PolicySpec, Partial<AdmissionRequest>, boolean]>([
    ["another resource", {}, { gvr: { group: "example.org", version: "v1", resource: "others" } }, false],
    ["a subresource", {}, { subresource: "status" }, false],
    [
      "a subresource by wildcard",
      {
        matchConstraints: {
          resourceRules: [{ apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*/*"] }],
        },
      },
      { subresource: "status" },
      true,
    ],
    [
      "another operation",
      {
        matchConstraints: {
          resourceRules: [{ apiGroups: ["*"], apiVersions: ["*"], operations: ["UPDATE"], resources: ["*"] }],
        },
      },
      {},
      false,
    ],
    [
      "another version, equivalent",
      {
        matchConstraints: {
          resourceRules: [
            { apiGroups: ["example.org"], apiVersions: ["v2"], operations: ["*"], resources: ["things"] },
          ],
        },
      },
      {},
      true,
    ],
    [
      "another version, exact",
      {
        matchConstraints: {
          matchPolicy: "Exact",
          resourceRules: [
            { apiGroups: ["example.org"], apiVersions: ["v2"], operations: ["*"], resources: ["things"] },
          ],
        },
      },
      {},
      false,
    ],
    ["excluded", { matchConstraints: { ...things, excludeResourceRules: things.resourceRules } }, {}, false],
    [
      "by name",
      { matchConstraints: { resourceRules: [{ ...things.resourceRules?.[0], resourceNames: ["y"] }] } },
      {},
      false,
    ],
    [
      "namespace selector takes",
      { matchConstraints: { ...things, namespaceSelector: { matchLabels: { tier: "gold" } } } },
      {},
      true,
    ],
    [
      "namespace selector leaves",
      {
        matchConstraints: {
          ...things,
          namespaceSelector: { matchExpressions: [{ key: "tier", operator: "NotIn", values: ["gold"] }] },
        },
      },
      {},
      false,
    ],
    [
      "object selector, new or old",
      { matchConstraints: { ...things, objectSelector: { matchLabels: { a: "b" } } } },
      { operation: "UPDATE", oldObject: thing({}, { a: "b" }) },
      true,
    ],
    [
      "object selector leaves",
      { matchConstraints: { ...things, objectSelector: { matchLabels: { a: "b" } } } },
      {},
      false,
    ],
    [
      "condition takes",
      { matchConditions: [{ name: "c", expression: "request.userInfo.username == 'alice'" }] },
      {},
      true,
    ],
    [
      "condition leaves",
      { matchConditions: [{ name: "c", expression: "request.userInfo.username != 'alice'" }] },
      {},
      false,
    ],
    [
      "a false condition beats a broken one",
      {
        matchConditions: [
          { name: "c", expression: "object.zzz" },
          { name: "d", expression: "false" },
        ],
      },
      {},
      false,
    ],
    ["a broken condition denies", { matchConditions: [{ name: "c", expression: "object.zzz" }] }, {}, true],
    [
      "or is ignored",
      { failurePolicy: "Ignore", matchConditions: [{ name: "c", expression: "object.zzz" }] },
      {},
      false,
    ],
    ["scope", { matchConstraints: { resourceRules: [{ ...things.resourceRules?.[0], scope: "Cluster" }] } }, {}, false],
  ])("%s", async (...[, spec, more, isDenied]) => {
    policy({ validations: [{ expression: "false" }], ...spec });
    expect((await admit(more)).allowed).toBe(!isDenied);
  });
  it("never the policies themselves", async () => {
    policy({
      validations: [{ expression: "false" }],
      matchConstraints: {
        resourceRules: [{ apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*"] }],
      },
    });
    expect((await admit({ gvk: { group, version: "v1", kind: "ValidatingAdmissionPolicy" } })).allowed).toBe(true);
    expect((await admit()).allowed).toBe(false);
  });
  it("only as long as policy and binding are there", async () => {
    policy({ validations: [{ expression: "false" }] });
    expect((await admit()).allowed).toBe(false);
    await store.writer.delete({ group, version: "v1", resource: "validatingadmissionpolicybindings" }, "", "b");
    expect((await admit()).allowed).toBe(true);
  });
});

describe("what follows", () => {
  it("may be a warning", async () => {
    policy({ validations: [{ expression: "false", message: "hm" }] }, { validationActions: ["Warn", "Audit"] });
    expect(await admit()).toEqual({
      allowed: true,
      warnings: ["Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': hm"],
    });
  });
  it("is nothing when faults are to be ignored", async () => {
    policy({ failurePolicy: "Ignore", validations: [{ expression: "object.zzz" }] });
    expect((await admit()).allowed).toBe(true);
  });
  it("a policy that does not compile denies", async () => {
    policy({ validations: [{ expression: "object." }] });
    expect(await message()).toContain("ValidatingAdmissionPolicy 'p' denied request: failed to configure policy");
  });
});

describe("params", () => {
  const spec: PolicySpec = {
    paramKind: { apiVersion: "v1", kind: "ConfigMap" },
    validations: [
      {
        expression: "params == null || object.spec.n <= int(params.data.max)",
        messageExpression: "'at most ' + params.data.max",
      },
    ],
  };
  const config = (name: string, max: string, labels = {}) =>
    store.put("", "configmaps", {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name, namespace: "ns", labels },
      data: { max },
    });
  it("by name in the object's namespace", async () => {
    policy(spec, { paramRef: { name: "limits", parameterNotFoundAction: "Deny" } });
    expect(await message()).toBe(
      denied("failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"),
    );
    config("limits", "0");
    expect(await message()).toBe(denied("at most 0"));
    config("limits", "1");
    expect(await message()).toBeUndefined();
  });
  it("by selector: all of them", async () => {
    policy(spec, { paramRef: { selector: { matchLabels: { use: "yes" } }, parameterNotFoundAction: "Allow" } });
    expect(await message()).toBeUndefined();
    config("a", "5", { use: "yes" });
    config("b", "0", { use: "yes" });
    expect(await message()).toBe(denied("at most 0"));
  });
  it("of the cluster", async () => {
    store.put("example.org", "flags", {
      apiVersion: "example.org/v1",
      kind: "Flag",
      metadata: { name: "f" },
      spec: { enabled: false },
    } as KubeObject);
    policy(
      {
        paramKind: { apiVersion: "example.org/v1", kind: "Flag" },
        validations: [{ expression: "params.spec.enabled", message: "off" }],
      },
      { paramRef: { name: "f", parameterNotFoundAction: "Deny" } },
    );
    expect(await message()).toBe(denied("off"));
  });
  it("of a kind that is not there", async () => {
    policy({ ...spec, paramKind: { apiVersion: "v9", kind: "Zzz" } }, { paramRef: { name: "f" } });
    expect(await message()).toContain("failed to find resource referenced by paramKind");
  });
});

describe("a policy's own faults", () => {
  const check = (spec: PolicySpec) =>
    checkPolicy({
      apiVersion: `${group}/v1`,
      kind: "ValidatingAdmissionPolicy",
      metadata: { name: "p" },
      spec,
    } as Policy).map((fault) => `${fault.field}: ${fault.message}`);
  it.each<[string, PolicySpec, string[]]>([
    [
      "none",
      {
        variables: [{ name: "v", expression: "object.a" }],
        validations: [{ expression: "variables.v == 1 && authorizer.group('').resource('x').check('get').allowed()" }],
      },
      [],
    ],
    [
      "unknown name",
      { validations: [{ expression: "zzz" }] },
      [expect.stringContaining("spec.validations[0].expression: Invalid value") as unknown as string],
    ],
    [
      "unknown variable",
      { validations: [{ expression: "variables.zzz" }] },
      [expect.stringContaining("undefined field 'zzz'") as unknown as string],
    ],
    [
      "no params",
      { validations: [{ expression: "params.x" }] },
      [expect.stringContaining("undeclared reference to 'params'") as unknown as string],
    ],
    [
      "nothing to check",
      {},
      [
        "spec.validations: Required value: validations or auditAnnotations must contain at least one item",
        "spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item",
      ],
    ],
  ])("%s", (_name, spec, expected) => {
    expect(check(spec)).toEqual(expected);
  });
});
