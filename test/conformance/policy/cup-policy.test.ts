// `cup policy` on a cluster: list, show, explain and delete read templates and constraints as the API server serves them.
import { afterAll, beforeAll, expect, test } from "vitest";
import { deletePolicy } from "../../../cli/policy/delete.ts";
import { explainPolicies } from "../../../cli/policy/explain.ts";
import { listPolicies } from "../../../cli/policy/list.ts";
import { showPolicy } from "../../../cli/policy/show.ts";
import { judge } from "../../../cli/policy/testing/judge-files.ts";
import { evaluate, prepareConstraint } from "../../../crds/policy-template/evaluate.ts";
import { constraintCRD, constraintKindOf, type Constraint } from "../../../crds/policy-template/constraint.ts";
import { App } from "../../../crds/app/app.ts";
import { toNamespaceLabels } from "../../../crds/space/namespace-labels.ts";
import { policyTemplateObjects } from "../../../crds/policy-template/default-templates.ts";
import { PolicyTemplate } from "../../../crds/policy-template/policy-template.ts";
import { Namespace } from "../../../kube/api/builtin.ts";
import { toCustomResourceDefinition } from "../../../kube/api/crd.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { eventually } from "../../eventually.ts";
import { startEmbedded } from "../embedded-server.ts";
import type { Server } from "../kubernetes/suite.ts";

const CRD: ResourceRef = {
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
};

const SPACE_GUID = "0198c0de-0000-4000-8000-000000000001";
const target = {
  org: () => Promise.resolve({ guid: "o", name: "acme" }),
  space: () => Promise.resolve({ guid: SPACE_GUID, name: "Prod EU" }),
  api: undefined as never,
};

let server: Server;
let kube: KubeClient;

beforeAll(async () => {
  server = await startEmbedded();
  kube = createClient({ server: server.url, ca: server.ca, auth: { kind: "token", token: server.adminToken } });
  for (const kind of [PolicyTemplate, App]) await kube.create(CRD, toCustomResourceDefinition(kind));
  const labels = toNamespaceLabels({ org: { name: "acme" }, space: { name: "prod-eu" } });
  await kube.create(Namespace, {
    metadata: { name: "acme-prod", labels: { ...labels, "cupola.dev/space-guid": SPACE_GUID } },
  });
  await eventually(() =>
    kube.create(App, { metadata: { name: "shop-x1", namespace: "acme-prod" }, spec: { name: "Shop" } }),
  );
  for (const object of policyTemplateObjects().filter(({ metadata }) =>
    ["requiredlabels", "sizelimit"].includes(metadata.name),
  ))
    await eventually(() => kube.create(PolicyTemplate, object));
  const template = await kube.get(PolicyTemplate, { name: "requiredlabels" });
  await kube.create(CRD, constraintCRD(template));
  const spec = {
    match: {
      spaces: ["acme/prod-*"],
      except: [{ space: "acme/prod-old", until: "2020-01-01T00:00:00Z", reason: "CHG-17" }],
    },
    parameters: { labels: [{ key: "owner" }] },
  };
  await eventually(() => kube.create(constraintKindOf(template), { metadata: { name: "owner-in-prod" }, spec }));
});
afterAll(async () => {
  await kube?.close();
  await server?.stop();
});

test("list shows templates, and constraints with action and place", async () => {
  const { json, text } = await listPolicies(kube);
  expect(json).toMatchObject({
    templates: [
      { name: "requiredlabels", constraints: 1 },
      { name: "sizelimit", constraints: null },
    ],
    constraints: [{ kind: "RequiredLabels", name: "owner-in-prod", enforcement: { action: "deny" }, violations: null }],
  });
  expect(text.join("\n")).toMatch(
    /^RequiredLabels\/owner-in-prod +deny +space acme\/prod-\*; 1 exempt +Unknown +not audited yet$/m,
  );
  expect(text.join("\n")).toMatch(/^sizelimit +Size limit +Process, Rollout, Task +not served yet +Unknown$/m);
});

test("show prints a constraint's parameters and ended exceptions, and a template's rules", async () => {
  const constraint = (await showPolicy(kube, "owner-in-prod")).text.join("\n");
  expect(constraint).toContain("- key: owner");
  expect(constraint).toMatch(/acme\/prod-old +all +2020-01-01T00:00:00Z \(ended\) +CHG-17/);
  const template = (await showPolicy(kube, "requiredlabels")).text.join("\n");
  expect(template).toContain("RequiredLabels/owner-in-prod");
  expect(template).toMatch(/rule 1: +size\(variables\.missing\) == 0/);
});

test.each(["app/shop-x1", "apps/Shop", "cfapp/Shop"])("explain %s finds the object and its place", async (what) => {
  const { text } = await explainPolicies(kube, target, { what, options: {} });
  expect(text.join("\n")).toContain("App/shop-x1 in acme-prod:");
  expect(text.join("\n")).toContain("refuses it: Required labels: needs the label owner (policy owner-in-prod)");
});

test("explain ends in the next step for an object or a kind that is not there", async () => {
  await expect(explainPolicies(kube, target, { what: "app/none", options: {} })).rejects.toMatchObject({
    message: "there is no App none in acme-prod",
    next: "kubectl get apps.cupola.dev -n acme-prod",
  });
  await expect(explainPolicies(kube, target, { what: "pod/x", options: {} })).rejects.toMatchObject({ kind: "usage" });
});

test("the verdict about a file is that about the stored object", async () => {
  const template = await kube.get(PolicyTemplate, { name: "requiredlabels" });
  const constraint = (await kube.get(constraintKindOf(template), { name: "owner-in-prod" })) as Constraint;
  const object = await kube.get(App, { namespace: "acme-prod", name: "shop-x1" });
  const { metadata } = await kube.get(Namespace, { name: "acme-prod" });
  const prepared = prepareConstraint(template.spec, constraint, new Date());
  const stored = evaluate([prepared], {
    point: "audit",
    operation: "CREATE",
    object,
    namespaceLabels: metadata.labels,
  });

  const { apiVersion, kind, spec } = constraint;
  const policy = { apiVersion, kind, metadata: { name: constraint.metadata.name }, spec };
  const app = { apiVersion: object.apiVersion, kind: "App", metadata: { name: "shop-x1", namespace: "acme-prod" } };
  const { json } = await judge([policy], [app], { org: "acme", space: "prod-eu" });
  expect(stored.allowed).toBe(false);
  expect(json).toEqual(stored);
});

test("a name that nothing has ends in the next step", async () => {
  await expect(showPolicy(kube, "nothing")).rejects.toMatchObject({ next: "cup policy list" });
});

test("delete asks first; without a person it names --force", async () => {
  await expect(deletePolicy(kube, "requiredlabels", {})).rejects.toMatchObject({
    message: expect.stringContaining(
      "Delete template requiredlabels and its constraint: RequiredLabels/owner-in-prod?",
    ),
    kind: "usage",
  });
  const { text } = await deletePolicy(kube, "requiredlabels/owner-in-prod", { force: true });
  expect(text).toEqual(["RequiredLabels/owner-in-prod is gone: the rule ends at once."]);
  expect((await listPolicies(kube)).json).toMatchObject({ constraints: [] });
});
