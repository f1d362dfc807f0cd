// Rights and networks in the namespaces of a spoke.
import { describe, expect, test } from "vitest";
import { hubAccountObjects } from "../../crds/hub-account.ts";
import type { LabelRequirement } from "../shared/network-settings.ts";
import type { RoleBindingObject } from "../shared/role-bindings.ts";
import { planBindings, planNetwork } from "./plan.ts";

const system = hubAccountObjects().filter(({ kind }) => kind === "RoleBinding") as RoleBindingObject[];

const roles = (labels: Record<string, string>): unknown[] =>
  planBindings({ metadata: { name: "acme-dev", labels } }, system).map(({ metadata, roleRef, subjects }) => [
    metadata.namespace,
    (roleRef as { name: string }).name,
    subjects,
  ]);

test("the hub may make Secrets in a namespace that it made for a space", () =>
  expect(roles({ "cupola.dev/hub": "h1", "cupola.dev/namespace": "space" })).toEqual([
    ["acme-dev", "cupola-hub-secrets", [{ kind: "ServiceAccount", namespace: "cupola-system", name: "cupola-hub" }]],
  ]));

test("nobody may in any other", () => {
  expect(roles({})).toEqual([]);
  expect(roles({ "cupola.dev/hub": "h1" })).toEqual([]);
  expect(roles({ "cupola.dev/namespace": "space" })).toEqual([]);
});

const OURS = { "cupola.dev/hub": "h1", "cupola.dev/namespace": "space" };
const network = (labels: Record<string, string>, settings?: Record<string, string>, existing: object[] = []) =>
  planNetwork({ metadata: { name: "acme-dev", labels } }, { settings, existing: existing as never });

test("apps in a hub's namespace are isolated by the settings of this cluster", () => {
  const { children, problem } = network(OURS, { "egress-cidrs": "192.0.2.0/24" });
  expect(problem).toBeUndefined();
  expect(children).toMatchObject([
    {
      kind: "NetworkPolicy",
      metadata: { name: "cupola-apps", namespace: "acme-dev" },
      spec: { policyTypes: ["Ingress", "Egress"], egress: [{}, { to: [{}, { ipBlock: { cidr: "192.0.2.0/24" } }] }] },
    },
    {
      metadata: { name: "cupola-tasks", namespace: "acme-dev" },
      spec: { policyTypes: ["Ingress", "Egress"], egress: [{}, { to: [{}, { ipBlock: { cidr: "192.0.2.0/24" } }] }] },
    },
  ]);
});

/** Names of the policies that select a pod with these labels. */
const policiesOf = (labels: Record<string, string>, pod: Record<string, string>): string[] =>
  network(labels).children.flatMap(({ metadata, spec }) => {
    const { matchExpressions } = (spec as { podSelector: { matchExpressions: LabelRequirement[] } }).podSelector;
    return matchExpressions.every((one) => matches(one, pod)) ? [metadata.name ?? ""] : [];
  });

function matches({ key, operator, values = [] }: LabelRequirement, pod: Record<string, string>): boolean {
  const value = pod[key];
  if (operator === "NotIn") return value === undefined || !values.includes(value);
  if (operator === "In") return value !== undefined && values.includes(value);
  return (value !== undefined) === (operator === "Exists");
}

const LENT = { ...OURS, "cupola.dev/adoptable-by": "h1" };

describe.each([
  ["made by the hub", OURS],
  ["that somebody lent", LENT],
])("in a namespace %s", (_name, labels) => {
  test.each<[string, Record<string, string>]>([
    ["as it is", { "cupola.dev/lrp": "shop", "cupola.dev/source-type": "APP" }],
    ["which the hub calls a build", { "cupola.dev/lrp": "shop", "cupola.dev/source-type": "STG" }],
    ["without the label of its source", { "cupola.dev/lrp": "shop" }],
  ])("an app's pod %s is isolated", (_pod, pod) => expect(policiesOf(labels, pod)).toEqual(["cupola-apps"]));

  test("so is a task's", () =>
    expect(policiesOf(labels, { "cupola.dev/task-run": "t", "cupola.dev/source-type": "TASK" })).toEqual([
      "cupola-tasks",
    ]));

  test("a team's own pod is not", () => expect(policiesOf(labels, { app: "database" })).toEqual([]));
});

test("none are where isolation is off, and in namespaces of others", () => {
  expect(network(OURS, { isolation: "off" }).children).toEqual([]);
  expect(network({}).children).toEqual([]);
});

test("isolation stays off while another setting is wrong, which is said", () =>
  expect(network(OURS, { isolation: "off", "egress-cidr": "10.0.0.0/8" })).toMatchObject({
    children: [],
    problem: { reason: "NetworkSettingsInvalid", message: expect.stringContaining("unknown: egress-cidr") as string },
  }));

test("wrong settings change nothing that there is", () => {
  const existing = [{ metadata: { name: "cupola-apps" }, spec: { podSelector: {} } }];
  const { children, problem } = network(OURS, { isolation: "perhaps" }, existing);
  expect(children).toMatchObject([{ metadata: { name: "cupola-apps" }, spec: { podSelector: {} } }]);
  expect(problem).toMatchObject({ reason: "NetworkSettingsInvalid" });
});
