// Rights in the namespaces of a spoke.
import { expect, test } from "vitest";
import { hubAccountObjects } from "../../crds/hub-account.ts";
import type { RoleBindingObject } from "../shared/role-bindings.ts";
import { planBindings } from "./plan.ts";

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
