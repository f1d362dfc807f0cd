// The webhook's verdict by rules that read others: refusals, warnings, unknown facts, and whom it never asks about.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CONSTRAINTS_GROUP, GROUP } from "../../crds/groups.ts";
import type { Action, Constraint } from "../../crds/policy-template/constraint.ts";
import { preparePolicies, type Policies } from "../../crds/policy-template/policies.ts";
import { PolicyTemplate } from "../../crds/policy-template/policy-template.ts";
import { toNamespaceLabels } from "../../crds/space/namespace-labels.ts";
import { Task } from "../../crds/task/task.ts";
import { anApp, makeObject } from "../../crds/testing/objects.ts";
import type { AdmissionRequest } from "../../kube/admission/admission-review.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { NotSynced } from "../../kube/cache/errors.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import type { LivePolicies } from "./live-policies.ts";
import { POLICY_WEBHOOK_SCOPE, startPolicyWebhook, type PolicyWebhook } from "./policy-webhook.ts";

const reading = PolicyTemplate.spec.parse({
  kind: "Demo",
  title: "Demo",
  subjects: ["App"],
  reads: [{ as: "tasks", kind: "Task", scope: "space" }],
  rules: [{ expression: "refs.tasks.size() == 0", message: "a task runs" }],
});
/** Its policies are in the API server. */
const plain = PolicyTemplate.spec.parse({
  kind: "Plain",
  title: "Plain",
  subjects: ["App"],
  rules: [{ expression: "false" }],
});

function policiesOf(...actions: Action[]): Policies {
  const constraintsOf = (kind: string): Constraint[] =>
    actions.map(
      (action) =>
        ({
          apiVersion: `${CONSTRAINTS_GROUP}/v1alpha1`,
          kind,
          metadata: { name: action, generation: 1 },
          spec: { enforcement: { action } },
        }) as Constraint,
    );
  const templates = [reading, plain].map((spec) =>
    makeObject(PolicyTemplate, spec.kind.toLowerCase(), { spec, status: { inForce: { generation: 1, spec } } }),
  );
  return preparePolicies({ templates, constraintsOf, now: new Date(0) });
}

const app = anApp();
const namespace = app.metadata.namespace ?? "";
const task = makeObject(Task, "t", { spec: { appRef: { name: "shop" }, command: "x" } });
const space: KubeObject = {
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name: namespace, labels: toNamespaceLabels({ org: { name: "acme" }, space: { name: "dev" } }) },
};

let known: { policies: Policies; gap: string | undefined };
/** Undefined where a kind is not synced. */
let stored: { Namespace?: KubeObject[]; Task?: KubeObject[] };
let watched: string[];
let change: () => void;
let webhook: PolicyWebhook;

beforeEach(() => {
  known = { policies: policiesOf("deny"), gap: undefined };
  stored = { Namespace: [space], Task: [task] };
  watched = [];
  const listed = ({ kind }: ResourceRef): KubeObject[] => {
    const found = stored[kind as "Task"];
    if (!found) throw new NotSynced(kind);
    return found;
  };
  const informers = {
    ensure: () => ({ release: () => undefined }),
    dynamicWatches: () => ({
      replace: (wanted: [{ ref: ResourceRef }, string][]) => {
        watched = wanted.map(([{ ref }, by]) => `${ref.kind} for ${by}`);
      },
      close: () => Promise.resolve(),
    }),
    read: {
      find: (ref: ResourceRef, { name }: { name: string }) =>
        listed(ref).find(({ metadata }) => metadata.name === name),
      list: listed,
    },
  } as unknown as Informers;
  const live = {
    policies: () => known.policies,
    gap: () => known.gap,
    onChange: (listener: () => void) => {
      change = listener;
      return () => undefined;
    },
  } as unknown as LivePolicies;
  webhook = startPolicyWebhook(live, informers);
});
afterEach(() => webhook.close());

const asked = (more: Partial<AdmissionRequest> = {}): AdmissionRequest => ({
  uid: "u",
  kind: { group: GROUP, version: "v1alpha1", kind: "App" },
  operation: "CREATE",
  namespace,
  object: app,
  user: { name: "ann", groups: ["system:masters"] },
  ...more,
});

describe("a write", () => {
  test("is refused with the policy's sentence, by rules that read others alone", () => {
    expect(webhook.review(asked())).toEqual({
      allowed: false,
      code: 422,
      reason: "Invalid",
      message: "Demo: a task runs (policy deny)",
      warnings: [],
    });
    stored.Task = [];
    expect(webhook.review(asked())).toEqual({ allowed: true, warnings: [] });
  });

  test("passes with a warning where the constraint only warns, and silently where it counts", () => {
    known.policies = policiesOf("warn", "dryrun");
    expect(webhook.review(asked())).toEqual({ allowed: true, warnings: ["Demo: a task runs (policy warn)"] });
  });

  test.each<[string, () => void, RegExp]>([
    ["the objects that the rule reads", () => delete stored.Task, /^Demo: cannot be decided now, .* \(policy deny\)$/],
    ["the namespace", () => (stored.Namespace = []), /labels of namespace .* are not known$/],
    ["policies", () => (known.gap = "they are being listed"), /they are being listed$/],
  ])("passes with a warning while %s are not known", (_what, lose, warning) => {
    lose();
    expect(webhook.review(asked())).toEqual({ allowed: true, warnings: [expect.stringMatching(warning)] });
  });

  test.each<[string, Partial<AdmissionRequest>]>([
    ["the platform writes it", { user: { name: "x", groups: ["cupola:platform"] } }],
    ["it is of another group", { kind: { group: "example.org", version: "v1", kind: "App" } }],
    ["no rule judges its kind", { kind: { group: GROUP, version: "v1alpha1", kind: "Task" }, object: task }],
    ["it changes nothing that people write", { operation: "UPDATE", oldObject: app }],
    ["it is a deletion", { operation: "DELETE", object: undefined, oldObject: app }],
  ])("passes when %s", (_why, more) => {
    expect(webhook.review(asked(more)).allowed).toBe(true);
  });
});

describe("a template", () => {
  const template = (spec: object = {}): KubeObject =>
    makeObject(PolicyTemplate, "demo", { spec: { ...reading, ...spec } });
  const broken = template({ rules: [{ expression: "object.spec." }] });
  const written = (object: KubeObject, more: Partial<AdmissionRequest> = {}) =>
    webhook.review(
      asked({
        kind: { group: GROUP, version: "v1alpha1", kind: "PolicyTemplate" },
        namespace: undefined,
        object,
        ...more,
      }),
    );

  test("with a mistake is refused with its place, also while policies are not known", () => {
    known.gap = "they are being listed";
    expect(written(broken)).toMatchObject({
      allowed: false,
      code: 422,
      message: expect.stringMatching(/^spec\.rules\[0\]\.expression: it does not compile/),
    });
    expect(written(broken, { operation: "UPDATE", oldObject: template() }).allowed).toBe(false);
  });

  test("passes without one, and while its spec stays", () => {
    expect(written(template()).allowed).toBe(true);
    const labelled = { ...broken, metadata: { ...broken.metadata, labels: { a: "b" } } };
    expect(written(labelled, { operation: "UPDATE", oldObject: broken }).allowed).toBe(true);
  });
});

test("the kinds that rules read are watched while a constraint reads them", () => {
  expect(watched).toEqual(["Task for Demo/deny"]);
  known.policies = policiesOf();
  change();
  expect(watched).toEqual([]);
});

test("no object of Kubernetes can reach it, and none outside of spaces", () => {
  const { rules, namespaceSelector } = POLICY_WEBHOOK_SCOPE;
  expect(rules).toMatchObject([
    {
      apiGroups: [GROUP],
      resources: ["apps", "droplets", "tasks"],
      scope: "Namespaced",
      operations: ["CREATE", "UPDATE"],
    },
    { apiGroups: [GROUP], resources: ["policytemplates"], scope: "Cluster" },
  ]);
  expect(namespaceSelector).toEqual({ matchExpressions: [{ key: "cupola.dev/space", operator: "Exists" }] });
});
