// When a managed instance is busy: while its broker is asked, and until the controller has seen a change.
import { expect, test } from "vitest";
import { isBusy, type PlanEntry } from "./pending-update.ts";
import type { ServiceInstance } from "./service-instance.ts";

const entry = {
  plan: { spec: { catalogID: "p" } },
  offering: { spec: { allowContextUpdates: true } },
} as unknown as PlanEntry;

function instance(status: object, spec: object = {}): ServiceInstance {
  const provided = { planID: "p", planObject: "small", name: "db" };
  return {
    metadata: { name: "db", generation: 2 },
    spec: { planRef: { name: "small" }, ...spec },
    status: {
      observedGeneration: 2,
      provided,
      lastOperation: { type: "create", state: "succeeded" },
      ...status,
    },
  } as unknown as ServiceInstance;
}

const doing = (state: string, more: object = {}): object => ({ lastOperation: { type: "update", state }, ...more });

test.each<[string, ServiceInstance, PlanEntry | undefined, boolean]>([
  ["nothing to do", instance({}), entry, false],
  ["no operation yet", instance({ lastOperation: undefined }), entry, true],
  ["the broker is asked", instance(doing("initial")), entry, true],
  ["the broker goes on by itself", instance(doing("in progress")), entry, true],
  ["the broker has not taken it so far", instance(doing("initial", { operation: { attempts: 1 } })), entry, false],
  ["a change that nobody has seen", instance({ observedGeneration: 1 }, { maintenanceVersion: "2" }), entry, true],
  ["tags that nobody has seen", instance({ observedGeneration: 1 }, { tags: ["x"] }), entry, false],
  ["a plan that is not there", instance({}, { planRef: { name: "gone" } }), undefined, false],
  [
    "such a plan, which nobody has seen",
    instance({ observedGeneration: 1 }, { planRef: { name: "g" } }),
    undefined,
    true,
  ],
  ["a change that the broker has refused", instance(doing("failed"), { maintenanceVersion: "2" }), entry, false],
])("%s", (_name, one, planEntry, busy) => {
  expect(isBusy(one, planEntry)).toBe(busy);
});
