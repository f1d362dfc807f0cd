// An object in a Work looks to the platform as on a cluster: what it applied, what is to change, and no more instances than it placed there.
import { expect, test } from "vitest";
import { needsApply } from "../../kube/api/apply-diff.ts";
import { appliedFields } from "../../kube/api/managed-fields.ts";
import type { Draft } from "../../kube/client/client.ts";
import { LABELS } from "../labels.ts";
import { LRP } from "../lrp/lrp.ts";
import { RouteBinding } from "../route-binding/route-binding.ts";
import { toRemoteObject, toWork } from "./remote-object.ts";
import type { Work } from "./work.ts";

const metadata = { name: "shop", namespace: "dev", labels: { [LABELS.hub]: "hub-1" } };
const identity = { guid: "guid", name: "name" };
const destination = { appGUID: "app", app: "shop", processType: "web", port: 8080 };

function route(destinations: readonly object[]): Draft {
  const spec = {
    ...{ class: "router", hostname: "shop.apps.example", routeGUID: "guid" },
    ...{ space: identity, org: identity, destinations },
  };
  return { apiVersion: "workloads.cupola.dev/v1alpha1", kind: "RouteBinding", metadata, spec };
}

test.each<[string, Draft, boolean]>([
  ["the same", route([{ ...destination, weight: 3 }]), false],
  ["a changed value", route([{ ...destination, weight: 4 }]), true],
  ["a field of a list's item that goes", route([destination]), true],
  ["an item that goes", route([]), true],
  ["a label that goes", { ...route([{ ...destination, weight: 3 }]), metadata: { ...metadata, labels: {} } }, true],
])("is applied again only where it differs: %s", (_what, draft, isNeeded) => {
  const work = toWork("west", RouteBinding, route([{ ...destination, weight: 3 }])) as Work;
  const live = toRemoteObject(work, "manager");
  if (!live) throw new Error("the Work holds no object");
  expect(needsApply(draft, live, appliedFields(live, "manager")?.fieldsV1)).toBe(isNeeded);
});

test("an agent's instances count only for the indexes that it was given", () => {
  const spec = {
    ...{ app: identity, space: identity, org: identity, class: "runner", rendering: "1", processGUID: "p" },
    ...{ processType: "web", revision: "1", version: "1", memoryMB: 64, diskMB: 64, ports: [], instances: 1 },
    droplet: { guid: "droplet", kind: "docker", image: "registry.example.org/shop:1" },
    indexes: [{ start: 1, end: 3 }],
    healthCheck: { type: "process" },
    readinessHealthCheck: { type: "process" },
  };
  const work = toWork("west", LRP, { metadata, spec }) as Work;
  const instances = [0, 1, 2, 7].map((index) => ({ index, state: "Running" as const, ready: true }));
  const object = toRemoteObject({ ...work, status: { lrp: { instances, runningInstances: 900 } } }, "manager");
  expect(object?.["status"]).toEqual({ instances: [instances[1]], runningInstances: 1 });
});

test("a Work without a valid object holds none", () => {
  expect(toRemoteObject(toWork("west", LRP, { metadata, spec: { instances: -1 } }) as Work, "manager")).toBeUndefined();
});
