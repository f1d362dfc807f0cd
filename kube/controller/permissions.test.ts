// RBAC rules from controller definitions: sufficient and minimal.
import { expect, test } from "vitest";
import { ConfigMap, Namespace, Secret, Service } from "../api/builtin.ts";
import { defineController, watch } from "./controller.ts";
import { permissionsIn, permissionsOf } from "./permissions.ts";
import { toResourceRules } from "../rbac/resource-rules.ts";

const Gadget = { group: "machinery.example", version: "v1", kind: "Gadget", plural: "gadgets", namespaced: true };

test("a controller needs the permissions that its definition implies and declares", () => {
  const controller = defineController({
    name: "gadget",
    for: Gadget,
    owns: [ConfigMap],
    reads: [Namespace],
    watches: [watch(Service, () => ({}))],
    permissions: [
      { resource: Secret, verbs: ["get"], names: ["key"] },
      { resource: Gadget, verbs: ["delete"] },
    ],
    reconcile: () => ({}),
  });
  expect(toResourceRules(permissionsOf(controller))).toEqual([
    { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch", "create", "patch", "delete"] },
    { apiGroups: [""], resources: ["events"], verbs: ["get", "create", "patch"] },
    { apiGroups: [""], resources: ["namespaces", "services"], verbs: ["get", "list", "watch"] },
    { apiGroups: [""], resources: ["secrets"], resourceNames: ["key"], verbs: ["get"] },
    { apiGroups: ["machinery.example"], resources: ["gadgets"], verbs: ["get", "list", "watch", "patch", "delete"] },
    { apiGroups: ["machinery.example"], resources: ["gadgets/status"], verbs: ["patch"] },
  ]);
});

test("a watch of one object in a namespace needs that object alone", () => {
  const controller = defineController({
    name: "settled",
    for: Service,
    watches: [watch(ConfigMap, () => [], { namespace: "system", fieldSelector: "metadata.name=settings" })],
    reconcile: () => ({}),
  });
  expect(toResourceRules(permissionsIn("system", controller))).toEqual([
    { apiGroups: [""], resources: ["configmaps"], resourceNames: ["settings"], verbs: ["get", "list", "watch"] },
  ]);
});

test("a controller without a status gets no permission on it", () => {
  const controller = defineController({ name: "quiet", for: Service, writesStatus: false, reconcile: () => ({}) });
  expect(toResourceRules(permissionsOf(controller))).toEqual([
    { apiGroups: [""], resources: ["services"], verbs: ["get", "list", "watch", "patch"] },
  ]);
});

test("a verb granted on all objects is not granted again by name", () => {
  expect(
    toResourceRules([
      { resource: Secret, verbs: ["get", "create"] },
      { resource: Secret, verbs: ["get"], names: ["a"] },
      { resource: Secret, verbs: ["get", "delete"], names: ["b"] },
    ]),
  ).toEqual([
    { apiGroups: [""], resources: ["secrets"], verbs: ["get", "create"] },
    { apiGroups: [""], resources: ["secrets"], resourceNames: ["b"], verbs: ["delete"] },
  ]);
});
