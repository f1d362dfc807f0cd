// Manifests of a bundle: which objects they may be, and the values of a cluster in them.
import { expect, test } from "vitest";
import { fillIn, splitDocuments, toDrafts } from "./manifests.ts";

const quota = (change: object = {}, metadata: object = {}) => ({
  from: "quota.yaml",
  value: {
    apiVersion: "v1",
    kind: "ResourceQuota",
    metadata: { name: "base", namespace: "monitoring", ...metadata },
    spec: { hard: { pods: "${PODS}" } },
    ...change,
  },
});

test("a text has one document or several; comments alone are none", () =>
  expect(splitDocuments("# base\n---\na: 1\n--- # next\nb: |\n  ---\n\n---\n# end\n")).toEqual([
    "\na: 1\n",
    "\nb: |\n  ---\n\n",
  ]));

test("a manifest keeps what a person writes, without status", () =>
  expect(toDrafts([quota({ status: { used: {} } }, { labels: { team: "a" } })])).toEqual([
    {
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "base", namespace: "monitoring", labels: { team: "a" }, annotations: {} },
      spec: { hard: { pods: "${PODS}" } },
    },
  ]));

test.each([
  ["a Deployment", quota({ apiVersion: "apps/v1", kind: "Deployment" }), "bundles have no Deployment of apps/v1"],
  ["a Secret", quota({ kind: "Secret" }), "bundles have no Secret of v1"],
  ["a role", quota({ apiVersion: "rbac.authorization.k8s.io/v1", kind: "RoleBinding" }), "bundles have no RoleBinding"],
  [
    "a ServiceMonitor, which says which credentials Prometheus sends, and where to",
    quota({ apiVersion: "monitoring.coreos.com/v1", kind: "ServiceMonitor" }),
    "bundles have no ServiceMonitor",
  ],
  ["a PodMonitor", quota({ apiVersion: "monitoring.coreos.com/v1", kind: "PodMonitor" }), "bundles have no PodMonitor"],
  ["no namespace", quota({}, { namespace: undefined }), "needs metadata.name and metadata.namespace"],
  ["the system's namespace", quota({}, { namespace: "kube-system" }), "write nothing in namespace kube-system"],
  ["the platform's namespace", quota({}, { namespace: "cupola-system" }), "write nothing in namespace cupola-system"],
  ["an owner", quota({}, { ownerReferences: [] }), "metadata.ownerReferences is not for bundles"],
  ["a finalizer", quota({}, { finalizers: ["a/b"] }), "metadata.finalizers is not for bundles"],
  ["a mark of the platform", quota({}, { labels: { "cupola.dev/hub": "x" } }), "cupola.dev/hub is the platform's own"],
  ["a label that is a number", quota({}, { labels: { a: 1 } }), "labels and annotations are texts"],
  ["a list", { from: "quota.yaml", value: [] }, "a manifest is an object"],
])("refused: %s", (_name, manifest, message) => expect(() => toDrafts([manifest])).toThrow(message));

test("refused: none, too many, and one twice", () => {
  expect(() => toDrafts([])).toThrow("there is no manifest in it");
  expect(() => toDrafts(Array.from({ length: 51 }, () => quota()))).toThrow("51 manifests: at most 50");
  expect(() => toDrafts([quota(), quota()])).toThrow("ResourceQuota monitoring/base is there twice");
});

test("values stand in texts, never in kind and place; one that is missing is named", () => {
  const drafts = toDrafts([quota({}, { name: "${PODS}", annotations: { said: "$${PODS} is ${PODS}" } })]);
  expect(fillIn(drafts, { PODS: "${PODS}0" })).toMatchObject([
    {
      metadata: { name: "${PODS}", annotations: { said: "${PODS} is ${PODS}0" } },
      spec: { hard: { pods: "${PODS}0" } },
    },
  ]);
  expect(() => fillIn(drafts, {})).toThrow("no value for ${PODS}: set it in spec.values");
});
