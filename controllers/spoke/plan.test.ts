// Rights and networks in the namespaces of a spoke.
import { expect, test } from "vitest";
import { hubAccountObjects } from "../../crds/hub-account.ts";
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
  ]);
});

test("only the platform's pods are in a namespace that somebody lent", () =>
  expect(network({ ...OURS, "cupola.dev/adoptable-by": "h1" }).children).toMatchObject([
    { spec: { podSelector: { matchExpressions: [{}, { key: "cupola.dev/source-type", operator: "Exists" }] } } },
  ]));

test("none are where isolation is off, and in namespaces of others", () => {
  expect(network(OURS, { isolation: "off" }).children).toEqual([]);
  expect(network({}).children).toEqual([]);
});

test("wrong settings change nothing that there is", () => {
  const existing = [{ metadata: { name: "cupola-apps" }, spec: { podSelector: {} } }];
  const { children, problem } = network(OURS, { isolation: "perhaps" }, existing);
  expect(children).toMatchObject([{ metadata: { name: "cupola-apps" }, spec: { podSelector: {} } }]);
  expect(problem).toMatchObject({ reason: "NetworkSettingsInvalid" });
});
