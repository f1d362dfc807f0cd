// An import opens nothing to namespaces of spaces that the export lacks: there they may be another tenant's.
import { expect, test } from "vitest";
import type { ExportedObject } from "./archive.ts";
import { keepKnownSpaces } from "./known-spaces.ts";

const NAMESPACES = new Map([
  ["acme-dev", "acme-dev-2"],
  ["acme-near", "acme-near"],
]);

function exported(kind: string, rest: Record<string, unknown>): ExportedObject {
  return {
    apiVersion: "cupola.dev/v1alpha1",
    kind,
    metadata: { name: "one", namespace: "acme-dev", uid: "u1", labels: {}, annotations: {} },
    ...rest,
  };
}

test("a Route and a ServiceInstance lose each such space, and each destination there", () => {
  const [own, near, other] = ["", "acme-near", "beta"].map((namespace) => ({ app: "a", namespace }));
  const route = exported("Route", {
    spec: { host: "h", sharedSpaces: ["acme-near", "beta"], destinations: [own, near, other] },
  });
  expect(keepKnownSpaces(route, NAMESPACES)).toMatchObject({
    object: { spec: { host: "h", sharedSpaces: ["acme-near"], destinations: [own, near] } },
    leftOut: 2,
  });
  const instance = exported("ServiceInstance", { spec: { sharedSpaces: ["beta", "gamma", "acme-dev"] } });
  expect(keepKnownSpaces(instance, NAMESPACES)).toMatchObject({
    object: { spec: { sharedSpaces: ["acme-dev"] } },
    leftOut: 2,
  });
});

test("an AppPolicy from such a space, and a ServiceBinding to an instance there, are left out", () => {
  const policy = (namespace: string): ExportedObject => exported("AppPolicy", { spec: { source: { namespace } } });
  const binding = (namespace?: string): ExportedObject =>
    exported("ServiceBinding", { spec: { instanceRef: { name: "db", namespace } } });
  expect(keepKnownSpaces(policy("beta"), NAMESPACES)).toBeUndefined();
  expect(keepKnownSpaces(binding("beta"), NAMESPACES)).toBeUndefined();
  for (const kept of [policy("acme-near"), binding("acme-near"), binding()])
    expect(keepKnownSpaces(kept, NAMESPACES)).toEqual({ object: kept, leftOut: 0 });
});

test("an App whose variables have such names is as it was", () => {
  const app = exported("App", { spec: { env: { namespace: "beta", sharedSpaces: "x" } } });
  expect(keepKnownSpaces(app, NAMESPACES)).toEqual({ object: app, leftOut: 0 });
});
