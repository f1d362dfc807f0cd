// Which plan an instance may have: a provided one stays its plan, and another broker's is none, whatever ids that broker chose.
import { expect, test } from "vitest";
import { ServiceBroker } from "../../crds/service-broker/service-broker.ts";
import { newGUID } from "../../crds/guid.ts";
import { LABELS } from "../../crds/labels.ts";
import type { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { ServiceOffering } from "../../crds/service-offering/service-offering.ts";
import { ServicePlan } from "../../crds/service-plan/service-plan.ts";
import type { ObjectKey } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { findRestoredProvided } from "../shared/osb/wanted-plan.ts";
import { findEntry } from "./plan-entry.ts";

/** A plan of an offering of the same name, both with ids that every broker has. */
const catalogOf = (namespace: string) => ({
  plan: {
    metadata: { namespace, name: "small" },
    spec: { catalogID: "p", offeringRef: { name: "pg" }, available: false, visibility: { type: "admin" } },
  },
  offering: { metadata: { namespace, name: "pg" }, spec: { catalogID: "s", brokerRef: { name: "broker" } } },
});

const read = {
  find: (ref: ResourceRef, { namespace = "" }: ObjectKey) =>
    ({ [ServicePlan.kind]: catalogOf(namespace).plan, [ServiceOffering.kind]: catalogOf(namespace).offering })[
      ref.kind
    ],
  byIndex: () => [],
  list: () => [],
} as unknown as Reader;

const instance = {
  metadata: { namespace: "acme-dev", name: "db" },
  spec: { planRef: { namespace: "system", name: "small" } },
  status: { provided: { planID: "p", offeringID: "s", brokerRef: { namespace: "system", name: "broker" } } },
};

test("what is provided stays, though nobody may order it now", () => {
  expect(findEntry(instance as unknown as ServiceInstance, read).entry?.plan.metadata.namespace).toBe("system");
});

test("another broker's plan with the same ids is of another offering", () => {
  const forged = { ...instance, spec: { planRef: { namespace: "acme-dev", name: "small" } } };
  expect(findEntry(forged as unknown as ServiceInstance, read).problem?.message).toMatch(/is of another offering/);
});

test.each<[string, object | undefined, boolean]>([
  ["is there", { metadata: {} }, true],
  ["is being deleted", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }, false],
  ["is gone", undefined, false],
])("a broker that %s takes new instances: %s", (_, broker, isTaken) => {
  const { plan, offering } = catalogOf("acme-dev");
  const available = { ...plan, spec: { ...plan.spec, available: true } };
  const found: Record<string, unknown> = {
    [ServicePlan.kind]: available,
    [ServiceOffering.kind]: offering,
    [ServiceBroker.kind]: broker,
  };
  const own = { ...read, find: ({ kind }: ResourceRef) => found[kind] } as unknown as Reader;
  const { entry, problem } = findEntry(
    { ...instance, spec: { planRef: { name: "small" } }, status: {} } as unknown as ServiceInstance,
    own,
  );
  expect([entry !== undefined, problem?.message.includes("being deleted") ?? false]).toEqual([isTaken, !isTaken]);
});

test.each<[string, string | undefined, boolean]>([
  ["without a label", undefined, false],
  ["whose GUID is its uid", "0d6b1f5e-8a3c-4c1e-9a55-1f2e3d4c5b6a", false],
  ["whose GUID was made with it", newGUID(Date.parse("2026-01-01T00:00:02Z")), false],
  ["whose GUID is older than it", newGUID(Date.parse("2025-12-01T00:00:00Z")), true],
  ["whose GUID was another's uid", "5c1e0d6b-8a3c-4c1e-9a55-1f2e3d4c5b6a", true],
])("an instance without status, %s, waits for its missing plan only if it was restored", (_, guid, isHeld) => {
  const waiting = {
    metadata: {
      namespace: "acme-dev",
      name: "db",
      uid: "0d6b1f5e-8a3c-4c1e-9a55-1f2e3d4c5b6a",
      creationTimestamp: "2026-01-01T00:00:02Z",
      ...(guid !== undefined && { labels: { [LABELS.guid]: guid } }),
    },
    spec: { planRef: { name: "gone" } },
  } as unknown as ServiceInstance;
  const none = { ...read, find: () => undefined } as unknown as Reader;
  if (isHeld) expect(() => findRestoredProvided(waiting, none)).toThrow(/plan gone does not exist/);
  else expect(findRestoredProvided(waiting, none)).toBeUndefined();
});
