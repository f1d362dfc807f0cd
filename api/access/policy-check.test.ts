// A caller's writes by operator policy: the object that is judged, refusals, warnings, who is spared.
import { describe, expect, test, vi } from "vitest";
import { App } from "../../crds/app/app.ts";
import { CONSTRAINTS_GROUP, SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { PLATFORM_GROUP } from "../../crds/platform-role.ts";
import type { Constraint } from "../../crds/policy-template/constraint.ts";
import { NO_POLICIES, preparePolicies, type Policies } from "../../crds/policy-template/policies.ts";
import { PolicyTemplate } from "../../crds/policy-template/policy-template.ts";
import { anApp, makeObject } from "../../crds/testing/objects.ts";
import { NotSynced } from "../../kube/cache/errors.ts";
import { RoleBinding } from "../../kube/api/builtin.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { createPolicyCheck, refusedByPolicy, toReviewedObjects, type PlannedWrite } from "./policy-check.ts";
import { createLiveCache } from "./testing/live-cache.ts";

const spec = PolicyTemplate.spec.parse({
  kind: "Demo",
  title: "Demo rules",
  subjects: ["App"],
  rules: [
    { expression: "object.spec.lifecycle.type != 'docker'", message: "no docker" },
    { expression: "request.userInfo.username != 'eve'", message: "not by eve" },
  ],
});
const template = makeObject(PolicyTemplate, "demo", { spec, status: { inForce: { generation: 1, spec } } });
const constraint = (name: string, action: string): Constraint =>
  ({
    apiVersion: `${CONSTRAINTS_GROUP}/v1alpha1`,
    kind: "Demo",
    metadata: { name, uid: name, generation: 1 },
    spec: { enforcement: { action } },
  }) as Constraint;
const policiesOf = (...constraints: Constraint[]): Policies =>
  preparePolicies({ templates: [template], constraintsOf: () => constraints, now: new Date() });

function judge(policies: Policies, write: PlannedWrite, { name = "ann", groups = ["system:authenticated"] } = {}) {
  const warnings: string[] = [];
  const check = createPolicyCheck({
    policies: () => policies,
    cache: createLiveCache().cache,
    caller: { name, groups },
    warn: (text) => void warnings.push(text),
  });
  return { refusals: check.refusals(App, write), warnings };
}

const docker = { draft: { metadata: { name: "a", namespace: "dev" }, spec: { lifecycle: { type: "docker" } } } };

test("a draft is judged with the defaults that the API server fills in", () => {
  const draft = { metadata: { name: "a", namespace: "dev", labels: undefined }, spec: {} };
  expect(toReviewedObjects(App, { draft })).toEqual({
    object: {
      apiVersion: "cupola.dev/v1alpha1",
      kind: "App",
      metadata: { name: "a", namespace: "dev" },
      spec: anApp().spec,
    },
  });
});

describe("a patch", () => {
  const object = anApp({ lifecycle: { type: "docker" } }, { metadata: { labels: { a: "1", b: "2" } } });
  const patched = (body: Record<string, unknown>) => toReviewedObjects(App, { object, patch: { type: "merge", body } });

  test("gives the object as it becomes, beside the stored one", () => {
    const { object: after, oldObject } = patched({ metadata: { labels: { b: null, c: "3" } } }) ?? {};
    expect([after?.metadata.labels, oldObject]).toEqual([{ a: "1", c: "3" }, object]);
  });

  test("that changes nothing is not judged, nor is one that the schema refuses", () => {
    expect(patched({ metadata: { labels: { a: "1" } } })).toBeUndefined();
    expect(patched({ spec: { state: "Dancing" } })).toBeUndefined();
  });

  test("in JSON patch's form is left to the API server", () => {
    expect(toReviewedObjects(App, { object, patch: { type: "json", body: [{ op: "remove", path: "/spec" }] } })).toBe(
      undefined,
    );
  });
});

test("each denial is a sentence, and a warning goes to the client", () => {
  expect(
    judge(policiesOf(constraint("a", "deny"), constraint("b", "warn"), constraint("c", "dryrun")), docker),
  ).toEqual({
    refusals: ["Demo rules: no docker (policy a)"],
    warnings: ["Demo rules: no docker (policy b)"],
  });
});

describe("a rule that reads other objects", () => {
  const reading = PolicyTemplate.spec.parse({
    kind: "Demo",
    title: "One app",
    subjects: ["App"],
    reads: [{ as: "apps", kind: "App", scope: "space" }],
    rules: [{ expression: "refs.apps.size() == 0", message: "there is another" }],
  });
  const templates = [
    makeObject(PolicyTemplate, "demo", { spec: reading, status: { inForce: { generation: 1, spec: reading } } }),
  ];
  const policies = (action: string): Policies =>
    preparePolicies({ templates, constraintsOf: () => [constraint("one", action)], now: new Date() });
  const write = { draft: { metadata: { name: "a", namespace: "acme-dev" }, spec: {} } };

  test("sees the stored ones, and those that are planned before it", () => {
    const live = createLiveCache();
    const check = createPolicyCheck({
      policies: () => policies("deny"),
      cache: live.cache,
      caller: { name: "ann", groups: [] },
      warn: vi.fn(),
    });
    const denial = ["One app: there is another (policy one)"];
    expect(check.refusals(App, write)).toEqual([]);
    expect(check.refusals(App, write, [anApp()])).toEqual(denial);
    live.store(App).upsert({ ...anApp(), metadata: { ...anApp().metadata, resourceVersion: "2" } });
    expect(check.refusals(App, write)).toEqual(denial);
  });

  test.each([
    [
      "deny",
      ["One app: cannot be decided now, since its App objects cannot be read or are more than 1000 (policy one)"],
    ],
    ["dryrun", []],
  ])("that cannot be read leaves the write to others, with the action %s", (action, expected) => {
    const cache = {
      store: () => ({
        find: () => undefined,
        list: () => {
          throw new NotSynced("apps.cupola.dev");
        },
      }),
    };
    const warnings: string[] = [];
    const check = createPolicyCheck({
      policies: () => policies(action),
      cache: cache as never,
      caller: { name: "ann", groups: [] },
      warn: (text) => void warnings.push(text),
    });
    expect([check.refusals(App, write), warnings]).toEqual([[], expected]);
  });
});

test("rules see the caller", () => {
  const { refusals } = judge(policiesOf(constraint("a", "deny")), docker, { name: "eve" });
  expect(refusals).toEqual(["Demo rules: no docker (policy a)", "Demo rules: not by eve (policy a)"]);
});

test.each([PLATFORM_GROUP, `system:serviceaccounts:${SYSTEM_NAMESPACE}`])("a caller in %s is never judged", (group) => {
  expect(judge(policiesOf(constraint("a", "deny")), docker, { groups: [group] }).refusals).toEqual([]);
});

test("without a constraint on the kind nothing but a look-up happens", () => {
  const bySubject = { get: vi.fn(() => undefined) } as unknown as Policies["bySubject"];
  const unread = new Proxy({} as never, {
    get: () => {
      throw new Error("nothing is read");
    },
  });
  const check = createPolicyCheck({
    policies: () => ({ ...NO_POLICIES, bySubject }),
    cache: unread,
    caller: { name: "ann", groups: [] },
    warn: unread,
  });
  expect([check.judges(App), check.refusals(App, unread)]).toEqual([false, []]);
  expect(bySubject.get).toHaveBeenCalledTimes(2);
  expect(check.judges(RoleBinding as ResourceRef)).toBe(false);
});

test("an answer has one error for each sentence, at most ten", () => {
  const sentences = Array.from({ length: 12 }, (_none, at) => `no ${at}`);
  const { errors, status } = refusedByPolicy(["no 0", ...sentences]);
  expect([status, errors.map(({ detail }) => detail)]).toEqual([422, sentences.slice(0, 10)]);
});
