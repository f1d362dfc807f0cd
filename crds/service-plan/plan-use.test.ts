// Users of a plan: the broker's instances and those that may order it, not everything that names it.
import { expect, test } from "vitest";
import type { ServiceInstance } from "../service-instance/service-instance.ts";
import { mayOrder, providingBrokerKey, wantedPlanKey } from "./plan-use.ts";
import type { ServicePlan } from "./service-plan.ts";

const instance = (namespace: string, planRef: object, provided?: object): ServiceInstance =>
  ({ metadata: { namespace, name: "i" }, spec: { planRef }, status: { provided } }) as unknown as ServiceInstance;

test.each([
  ["acme-dev", "acme-dev", undefined, true],
  ["evil-dev", "acme-dev", { type: "public" }, false],
  ["acme-dev", "cupola-system", { type: "organization", orgs: ["acme"] }, true],
  ["evil-dev", "cupola-system", { type: "organization", orgs: ["acme"] }, false],
])("an instance in %s, a plan in %s of visibility %j", (namespace, planNamespace, visibility, may) => {
  const plan = { metadata: { namespace: planNamespace, name: "p" }, spec: { visibility } } as unknown as ServicePlan;
  const orgOf = (space: string): string => space.split("-")[0] ?? "";
  expect(mayOrder(plan, instance(namespace, { name: "p", namespace: planNamespace }), orgOf)).toBe(may);
});

test("references without a namespace mean the instance's own", () => {
  const made = instance("acme-dev", { name: "p" }, { brokerRef: { name: "b" } });
  expect([wantedPlanKey(made), providingBrokerKey(made)]).toEqual(["acme-dev/p", "acme-dev/b"]);
});
