// A catalog for tests of managed service instances.
import { ServiceBroker } from "../../../crds/service-broker/service-broker.ts";
import { ServiceOffering } from "../../../crds/service-offering/service-offering.ts";
import { ServicePlan } from "../../../crds/service-plan/service-plan.ts";
import { Secret } from "../../../kube/api/builtin.ts";
import type { ApiHarness } from "./harness.ts";
import type { ScriptedBroker } from "./scripted-broker.ts";

export const SYSTEM = "cupola-system";

/** A broker with a plan for everybody and one for nobody, as its controller would make them. */
export async function makeCatalog(bench: ApiHarness, broker: ScriptedBroker): Promise<void> {
  const { kube } = bench.testEnv;
  const at = (name: string) => ({ metadata: { name, namespace: SYSTEM } });
  const data = { username: "dXNlcg==", password: "c2VjcmV0" };
  await kube.create(Secret, {
    metadata: { ...at("scripted").metadata, labels: { "cupola.dev/env": "allowed" } },
    type: "Opaque",
    data,
  });
  await kube.create(ServiceBroker, {
    ...at("scripted"),
    spec: { name: "scripted", url: broker.url, credentialsSecretRef: { name: "scripted" } },
  });
  await kube.create(ServiceOffering, {
    ...at("db"),
    spec: {
      name: "db",
      brokerRef: { name: "scripted" },
      catalogID: "db-id",
      tags: ["sql"],
      requires: ["syslog_drain", "route_forwarding"],
      bindingsRetrievable: true,
      shareable: true,
      planUpdateable: true,
    },
  });
  await kube.create(ServiceOffering, {
    ...at("fixed"),
    spec: { name: "fixed", brokerRef: { name: "scripted" }, catalogID: "fixed-id" },
  });
  await kube.create(ServiceOffering, {
    ...at("telling"),
    spec: {
      name: "telling",
      brokerRef: { name: "scripted" },
      catalogID: "telling-id",
      instancesRetrievable: true,
      shareable: true,
    },
  });
  for (const [name, offering, type, more] of [
    ["small", "db", "public", {}],
    ["large", "db", "public", {}],
    ["hidden", "db", "admin", {}],
    ["new", "db", "public", { maintenanceInfo: { version: "2.0.0", description: "faster" } }],
    ["gone", "db", "public", { available: true }],
    ["paid", "db", "public", { free: false }],
    ["one", "fixed", "public", {}],
    ["two", "fixed", "public", {}],
    ["told", "telling", "public", {}],
  ] as const)
    await kube.create(ServicePlan, {
      ...at(name),
      spec: { name, offeringRef: { name: offering }, catalogID: `${name}-id`, visibility: { type }, ...more },
    });
}

/** Another offering, with plans for everybody. */
export async function makeOffering(
  bench: ApiHarness,
  { name, broker }: { name: string; broker: string },
  plans: readonly string[],
): Promise<void> {
  const { kube } = bench.testEnv;
  const at = (of: string) => ({ metadata: { name: of, namespace: SYSTEM } });
  const spec = { name, brokerRef: { name: broker }, catalogID: `${name}-id`, shareable: true };
  await kube.create(ServiceOffering, { ...at(name), spec });
  for (const plan of plans)
    await kube.create(ServicePlan, {
      ...at(plan),
      spec: { name: plan, offeringRef: { name }, catalogID: `${plan}-id`, visibility: { type: "public" } },
    });
}
