// From what controllers declare to RBAC rules: enough, and no more.
import { expect, test } from "vitest";
import { ConfigMap, Namespace, Secret, Service } from "../api/builtin.ts";
import { defineController, watch } from "./controller.ts";
import { rightsOf, toRules } from "./permissions.ts";

const Gadget = { group: "machinery.example", version: "v1", kind: "Gadget", plural: "gadgets", namespaced: true };

test("a controller needs what its definition implies, and what it declares besides", () => {
  const controller = defineController({
    name: "gadget",
    for: Gadget,
    owns: [ConfigMap],
    reads: [Namespace],
    watches: [watch(Service, () => ({}))],
    rights: [{ on: Secret, verbs: ["get"], names: ["key"] }, { on: Gadget, verbs: ["delete"] }],
    reconcile: () => ({}),
  });
  expect(toRules(rightsOf(controller))).toEqual([
    { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch", "create", "patch", "delete"] },
    { apiGroups: [""], resources: ["namespaces", "services"], verbs: ["get", "list", "watch"] },
    { apiGroups: [""], resources: ["secrets"], resourceNames: ["key"], verbs: ["get"] },
    { apiGroups: ["machinery.example"], resources: ["gadgets"], verbs: ["get", "list", "watch", "patch", "delete"] },
    { apiGroups: ["machinery.example"], resources: ["gadgets/status"], verbs: ["patch"] },
  ]);
});

test("a controller that writes no status gets no right on it", () => {
  const controller = defineController({ name: "quiet", for: Service, writesStatus: false, reconcile: () => ({}) });
  expect(toRules(rightsOf(controller))).toEqual([{ apiGroups: [""], resources: ["services"], verbs: ["get", "list", "watch", "patch"] }]);
});

test("what is given on all objects is not given again by name", () => {
  expect(toRules([{ on: Secret, verbs: ["get", "create"] }, { on: Secret, verbs: ["get"], names: ["a"] }, { on: Secret, verbs: ["get", "delete"], names: ["b"] }])).toEqual([
    { apiGroups: [""], resources: ["secrets"], verbs: ["get", "create"] },
    { apiGroups: [""], resources: ["secrets"], resourceNames: ["b"], verbs: ["delete"] },
  ]);
});
