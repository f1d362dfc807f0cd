// The writes of an import, and the writes that no file can make it do.
import { expect, test } from "vitest";
import { exportObject } from "./export-object.ts";
import { namespaceOf, planDraft, planStatus, requireImportable, splitManaged } from "./plan-draft.ts";
import type { ExportedObject } from "./archive.ts";

const NOUNS = "cupola.dev/v1alpha1";

function exported(kind: string, rest: Record<string, unknown> = {}, metadata: object = {}): ExportedObject {
  return {
    apiVersion: NOUNS,
    kind,
    metadata: { name: "one", namespace: "acme-dev", uid: "u1", labels: {}, annotations: {}, ...metadata },
    ...rest,
  };
}

const role = (name: string, metadata: object = {}): ExportedObject => ({
  ...exported("RoleBinding", { roleRef: { kind: "ClusterRole", name } }, metadata),
  apiVersion: "rbac.authorization.k8s.io/v1",
});
const secret = (metadata: object, type = "Opaque"): ExportedObject => ({
  ...exported("Secret", { type }, metadata),
  apiVersion: "v1",
});
const SYSTEM = { namespace: "cupola-system" };
const owner = { apiVersion: "v1", kind: "Node", name: "n", uid: "u" };

test.each<[string, ExportedObject]>([
  ["a kind of Kubernetes", { ...exported("ClusterRoleBinding", {}, { namespace: undefined }), apiVersion: "v1" }],
  ["a kind that is left out", exported("Claim", {}, SYSTEM)],
  ["another version", { ...exported("App"), apiVersion: "cupola.dev/v1" }],
  ["a cluster-wide object in a namespace", exported("Org")],
  ["an app in the system namespace", exported("App", {}, SYSTEM)],
  ["a role in the system namespace", role("cupola-space-developer", SYSTEM)],
  ["a role of Kubernetes", role("cluster-admin")],
  ["a binding of the platform", role("cupola-space-developer", { labels: { "cupola.dev/managed-by": "space" } })],
  ["a key of the installation", secret({ ...SYSTEM, name: "cupola-login-keys" })],
  ["a token", secret({}, "kubernetes.io/service-account-token")],
  ["an owner of another kind", exported("App", {}, { ownerReferences: [owner] })],
])("%s is refused", (_what, object) => {
  expect(() => requireImportable(object)).toThrow(/is not imported/);
});

test("an object goes only into a namespace of an org or space of the export", () => {
  const namespaces = new Map([["acme-dev", "acme-dev-2"]]);
  expect(namespaceOf(exported("App"), namespaces)).toBe("acme-dev-2");
  expect(() => namespaceOf(exported("App", {}, { namespace: "kube-system" }), namespaces)).toThrow(/no org or space/);
});

test("names of namespaces, the owner and the generation become those of the other cluster", () => {
  const namespaces = new Map([["acme-dev", "there"]]);
  const reference = { apiVersion: NOUNS, kind: "ServiceBroker", name: "b", uid: "new" };
  const object = exported(
    "ServicePlan",
    {
      spec: { ref: { namespace: "acme-dev" }, sharedSpaces: ["acme-dev", "else"], visibility: { type: "public" } },
      status: { observedGeneration: 7, conditions: [{ type: "Ready", observedGeneration: 7 }] },
    },
    {
      labels: { "cupola.dev/owner-uid": "old", "cupola.dev/managed-by": "service-broker", team: "a" },
      annotations: { "cupola.dev/owner": "acme-dev/b" },
    },
  );
  const draft = planDraft(object, { namespace: "there", namespaces, owners: [{ reference, originalUid: "old" }] });
  expect(draft.metadata).toMatchObject({
    namespace: "there",
    labels: { "cupola.dev/owner-uid": "new" },
    annotations: { "cupola.dev/owner": "there/b", "cupola.dev/importing": "true" },
    ownerReferences: [reference],
  });
  expect(draft["spec"]).toMatchObject({ ref: { namespace: "there" }, sharedSpaces: ["there"] });
  expect(planStatus(object, { generation: 1 }, namespaces)).toEqual({
    observedGeneration: 1,
    conditions: [{ type: "Ready", observedGeneration: 1 }],
  });
  const managed = splitManaged(draft);
  expect(managed?.manager).toBe("cupola-controller-service-broker");
  expect(managed?.applied.metadata.labels).not.toHaveProperty("team");
  expect(managed?.applied["spec"]).not.toHaveProperty("visibility");
  expect(managed?.patch).toMatchObject({
    metadata: { labels: { team: "a" } },
    spec: { visibility: { type: "public" } },
  });
});

test.each([
  ["Task", "Running"],
  ["Build", "Staging"],
  ["Rollout", "Paused"],
])("an unfinished %s is left out", (kind, state) => {
  const object = { apiVersion: NOUNS, kind, metadata: { name: "one" }, status: { state } };
  expect(exportObject(object)).toEqual({ leftOut: "unfinished work" });
});
