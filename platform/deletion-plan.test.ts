// The order in which an uninstallation deletes our objects, and the words for those that do not end.
import { expect, test } from "vitest";
import { App } from "../crds/app/app.ts";
import { LRP } from "../crds/lrp/lrp.ts";
import { Org } from "../crds/org/org.ts";
import { ServiceBroker } from "../crds/service-broker/service-broker.ts";
import { ServiceInstance } from "../crds/service-instance/service-instance.ts";
import { Space } from "../crds/space/space.ts";
import type { KubeObject } from "../kube/api/object.ts";
import type { ResourceRef } from "../kube/api/resource-ref.ts";
import { byCause, countKinds, describeBlocker, listBlockers, planDeletions, type Remaining } from "./deletion-plan.ts";

const left = (ref: ResourceRef, name: string, more: object = {}): Remaining => ({ ref, metadata: { name, ...more } });
const names = (remaining: readonly Remaining[]): string[] => remaining.map(({ metadata }) => metadata.name);

test("orgs go first, then whatever else has finalizers, and brokers last", () => {
  const broker = left(ServiceBroker, "broker");
  const lrp = left(LRP, "elsewhere");
  expect(names(planDeletions([broker, lrp, left(Space, "dev"), left(Org, "acme")]))).toEqual(["acme"]);
  expect(names(planDeletions([broker, lrp]))).toEqual(["elsewhere"]);
  expect(names(planDeletions([broker]))).toEqual(["broker"]);
});

test("an object that is being deleted is not deleted again, and those after it wait", () => {
  const going = { deletionTimestamp: "2026-01-01T00:00:00Z" };
  expect(planDeletions([left(Org, "acme", going), left(ServiceBroker, "broker")])).toEqual([]);
});

test("the objects that block others are named before these", () => {
  const remaining = [left(Org, "acme"), left(Space, "dev"), left(ServiceInstance, "db")];
  expect(names(byCause(remaining))).toEqual(["db", "dev", "acme"]);
  expect(countKinds(remaining)).toBe("1 orgs, 1 spaces, 1 serviceinstances");
});

test("blockers are those being deleted that wait for no other", () => {
  const going = { deletionTimestamp: "2026-01-01T00:00:00Z" };
  const [org, space, db] = [left(Org, "acme", going), left(Space, "dev", going), left(ServiceInstance, "db", going)];
  expect(names(listBlockers([org, space, db, left(App, "shop")]))).toEqual(["db"]);
  expect(names(listBlockers([org, space]))).toEqual(["dev"]);
  expect(listBlockers([left(Org, "acme")])).toEqual([]);
});

function object(name: string, status?: object, spec: object = {}): KubeObject {
  return { apiVersion: "x", kind: "X", metadata: { name, namespace: "acme-dev", finalizers: ["f"] }, spec, status };
}

const ready = (reason: string, message: string): object => ({
  conditions: [{ type: "Ready", status: "False", reason, message, lastTransitionTime: "" }],
});

test.each<[string, ResourceRef, KubeObject, string]>([
  [
    "an instance whose broker is gone",
    ServiceInstance,
    object("db", ready("BrokerUnreachable", "no answer"), { name: "My DB" }),
    'ServiceInstance acme-dev/db: BrokerUnreachable: no answer. Next: bring its service broker back, or forget it: cf purge-service-instance My DB, or kubectl patch serviceinstances.cupola.dev db -n acme-dev --type=merge -p \'{"spec":{"purge":true}}\'',
  ],
  [
    "a broker with instances",
    ServiceBroker,
    object("b", ready("InstancesExist", "2 service instances")),
    "ServiceBroker acme-dev/b: InstancesExist: 2 service instances. Next: delete or purge the service instances of its plans: kubectl get serviceinstances.cupola.dev -A",
  ],
  [
    "a space whose namespace does not end",
    Space,
    object("dev", { ...ready("NamespaceTerminating", "waiting"), namespace: "acme-dev" }),
    "Space acme-dev/dev: NamespaceTerminating: waiting. Next: see what is left in it: kubectl get namespace acme-dev -o jsonpath='{.status.conditions}'",
  ],
  [
    "an object that no controller has looked at",
    App,
    object("shop"),
    "App acme-dev/shop: no controller has said why; its finalizers are f. Next: kubectl logs -n cupola-system deployment/cupola-controllers",
  ],
])("%s is named with what it waits for and a next step", (_what, ref, blocking, line) => {
  expect(describeBlocker(ref, blocking)).toBe(line);
});
