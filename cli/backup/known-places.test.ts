// An import opens nothing to spaces and orgs that the export lacks: there the names may be another tenant's.
import { describe, expect, test } from "vitest";
import { appPolicyName } from "../../crds/app-policy/rules.ts";
import type { ExportedObject } from "./archive.ts";
import { keepKnownPlaces } from "./known-places.ts";

const PLACES = {
  namespaces: new Map([
    ["acme-dev", "acme-dev-2"],
    ["acme-near", "acme-near"],
  ]),
  orgs: new Set(["acme"]),
};

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
  expect(keepKnownPlaces(route, PLACES)).toMatchObject({
    object: { spec: { host: "h", sharedSpaces: ["acme-near"], destinations: [own, near] } },
    leftOut: 2,
  });
  const instance = exported("ServiceInstance", { spec: { sharedSpaces: ["beta", "gamma", "acme-dev"] } });
  expect(keepKnownPlaces(instance, PLACES)).toMatchObject({
    object: { spec: { sharedSpaces: ["acme-dev"] } },
    leftOut: 2,
  });
});

test("an AppPolicy from such a space, and a ServiceBinding to an instance there, are left out", () => {
  const policy = (namespace: string): ExportedObject => exported("AppPolicy", { spec: { source: { namespace } } });
  const binding = (namespace?: string): ExportedObject =>
    exported("ServiceBinding", { spec: { instanceRef: { name: "db", namespace } } });
  expect(keepKnownPlaces(policy("beta"), PLACES)).toBeUndefined();
  expect(keepKnownPlaces(binding("beta"), PLACES)).toBeUndefined();
  for (const kept of [policy("acme-near"), binding("acme-near"), binding()])
    expect(keepKnownPlaces(kept, PLACES)).toEqual({ object: kept, leftOut: 0 });
});

test("a Domain and a ServicePlan are shared with orgs of the export alone", () => {
  const domain = exported("Domain", { spec: { name: "a.example.org", sharedOrgs: ["acme", "beta"] } });
  expect(keepKnownPlaces(domain, PLACES)).toMatchObject({
    object: { spec: { name: "a.example.org", sharedOrgs: ["acme"] } },
    leftOut: 1,
  });
  const visibility = { type: "organization", orgs: ["beta", "acme", "gamma"] };
  expect(keepKnownPlaces(exported("ServicePlan", { spec: { free: true, visibility } }), PLACES)).toMatchObject({
    object: { spec: { free: true, visibility: { type: "organization", orgs: ["acme"] } } },
    leftOut: 2,
  });
  const open = exported("ServicePlan", { spec: { visibility: { type: "public" } } });
  expect(keepKnownPlaces(open, PLACES)).toEqual({ object: open, leftOut: 0 });
});

test("an App whose variables have such names is as it was", () => {
  const app = exported("App", { spec: { env: { namespace: "beta", sharedSpaces: "x" } } });
  expect(keepKnownPlaces(app, PLACES)).toEqual({ object: app, leftOut: 0 });
});

describe("subjects of a role", () => {
  const binding = (...subjects: object[]): ExportedObject => exported("RoleBinding", { subjects });
  const account = (namespace: string): object => ({ kind: "ServiceAccount", namespace, name: "ci" });
  const named = (kind: string, name: string): object => ({ kind, apiGroup: "rbac.authorization.k8s.io", name });

  test("service accounts are of the namespace there, or left out", () => {
    const alice = named("User", "alice");
    expect(keepKnownPlaces(binding(account("acme-dev"), alice, account("beta")), PLACES)).toEqual({
      object: binding(account("acme-dev-2"), alice),
      leftOut: 1,
    });
  });

  test("users and groups by which Kubernetes knows service accounts, too", () => {
    const group = (namespace: string): object => named("Group", `system:serviceaccounts:${namespace}`);
    const user = (namespace: string): object => named("User", `system:serviceaccount:${namespace}:ci`);
    const subjects = [group("acme-dev"), group("beta"), user("acme-dev"), user("beta"), named("Group", "team")];
    expect(keepKnownPlaces(binding(...subjects), PLACES)).toEqual({
      object: binding(group("acme-dev-2"), user("acme-dev-2"), named("Group", "team")),
      leftOut: 2,
    });
  });

  test("a role of none is left out", () => {
    expect(keepKnownPlaces(binding(account("beta")), PLACES)).toBeUndefined();
  });
});

describe("a network policy", () => {
  const policy = (namespace: string, name?: string, status?: object): ExportedObject => {
    const spec = {
      source: { namespace, app: "shop" },
      destination: { app: "still" },
      protocol: "tcp" as const,
      ports: { start: 80, end: 80 },
    };
    const object = exported("AppPolicy", { spec, ...(status && { status }) });
    return { ...object, metadata: { ...object.metadata, name: name ?? appPolicyName(spec) } };
  };

  test("of the CF API has the name of the same policy there", () => {
    const { name } = policy("acme-dev-2").metadata;
    expect(keepKnownPlaces(policy("acme-dev"), PLACES)?.object).toEqual(policy("acme-dev", name));
    expect(keepKnownPlaces(policy("acme-dev", "mine"), PLACES)?.object).toEqual(policy("acme-dev", "mine"));
  });

  test("is not of the apps of the other cluster", () => {
    const status = { sourceUID: "u1", destinationUID: "u2", observedGeneration: 1 };
    const kept = keepKnownPlaces(policy("acme-near", undefined, status), PLACES)?.object;
    expect(kept).toEqual(policy("acme-near", undefined, { observedGeneration: 1 }));
  });
});
