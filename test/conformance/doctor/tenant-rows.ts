// Rows of the doctor's test about what tenants have: an org with a space and an app, made by hand as the controllers would.
import { Claim } from "../../../crds/claim/claim.ts";
import { newClaim } from "../../../crds/claim/rules.ts";
import { App } from "../../../crds/app/app.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { Org } from "../../../crds/org/org.ts";
import { Process } from "../../../crds/process/process.ts";
import { ServiceBroker } from "../../../crds/service-broker/service-broker.ts";
import { Space } from "../../../crds/space/space.ts";
import { INDEX_GATE } from "../../../crds/lrp/index-gate.ts";
import { LABELS } from "../../../crds/labels.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { Namespace, Pod, Secret, ServiceAccount } from "../../../kube/api/builtin.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import type { DoctorRow, DoctorWorld } from "./doctor-world.ts";

const SPACE = "acme-dev";
const later = { minutesLater: 11 };

/** Pods, Orgs and all else are made once, by the first row that needs them. */
export function tenantRows(world: DoctorWorld): DoctorRow[] {
  const inSpace = (name: string): { namespace: string; name: string } => ({ namespace: SPACE, name });
  const pullSecret = inSpace("cupola-registry");
  const copySecret = async (): Promise<void> => {
    const { type, data } = await world.admin.get(Secret, { ...pullSecret, namespace: SYSTEM_NAMESPACE });
    await world.admin.create(Secret, { metadata: pullSecret, type, data });
  };
  const ready = (status: "True" | "False", reason: string): Record<string, unknown> => ({
    conditions: [
      {
        type: "Ready",
        status,
        reason,
        message: `it is ${reason}`,
        lastTransitionTime: `${new Date().toISOString().slice(0, 19)}Z`,
      },
    ],
  });

  async function makeTenant(): Promise<void> {
    const org = await world.admin.create(Org, { metadata: { name: "acme" }, spec: {} });
    await makeNamespace("acme", "org", org);
    const space = await world.admin.create(Space, { metadata: { namespace: "acme", name: "dev" }, spec: {} });
    await makeNamespace(SPACE, "space", space);
    await world.setStatus(Space, { namespace: "acme", name: "dev" }, { namespace: SPACE });
    await world.admin.create(ServiceAccount, { metadata: inSpace("default") });
    await world.admin.create(App, { metadata: inSpace("shop"), spec: { name: "shop" } });
    await world.admin.create(Process, { metadata: inSpace("shop.web"), spec: { appRef: { name: "shop" } } });
  }

  async function makeNamespace(name: string, kind: string, owner: KubeObject): Promise<void> {
    const labels = { [LABELS.namespaceKind]: kind, [LABELS.ownerUid]: owner.metadata.uid ?? "" };
    await world.platform.create(Namespace, { metadata: { name, labels } });
  }

  async function makeLrp(name: string, ownerUid: string, rendering: string): Promise<void> {
    const identity = { guid: "g", name: "n" };
    await world.platform.create(LRP, {
      metadata: { ...inSpace(name), labels: { [LABELS.ownerUid]: ownerUid } },
      spec: {
        class: "deployment",
        rendering,
        app: identity,
        space: identity,
        org: identity,
        processGUID: "g",
        processType: "web",
        revision: "1",
        version: "1",
        droplet: { guid: "g", kind: "docker", image: "registry.example.org/shop:1" },
        ports: [8080],
        instances: 1,
        memoryMB: 64,
        diskMB: 64,
        healthCheck: { type: "port" },
        readinessHealthCheck: { type: "process" },
      },
    });
  }
  const removeLrp = (name: string): Promise<unknown> => world.platform.delete(LRP, inSpace(name));

  return [
    {
      code: 402,
      fault: "a space lacks the pull Secret",
      break: makeTenant,
      words: "1 space cannot pull images",
      mend: copySecret,
      look: later,
    },
    {
      code: 501,
      fault: "a pod waits for its instance index",
      break: () =>
        world.admin.create(Pod, {
          metadata: { ...inSpace("shop-1"), labels: { [LABELS.lrp]: "shop" } },
          spec: { schedulingGates: [{ name: INDEX_GATE }], containers: [{ name: "web", image: "shop" }] },
        }),
      words: "1 pod waits for an instance index",
      mend: () => world.admin.delete(Pod, inSpace("shop-1"), { gracePeriodSeconds: 0 }),
      look: later,
    },
    {
      code: 502,
      fault: "an LRP has lost its Process",
      break: () => makeLrp("lost", "nobody", "3"),
      words: "1 LRP has no owner",
      mend: () => removeLrp("lost"),
      look: later,
    },
    {
      code: 502,
      fault: "a namespace has lost its Space",
      break: () =>
        makeNamespace("acme-gone", "space", { apiVersion: "", kind: "", metadata: { name: "", uid: "nobody" } }),
      words: "1 namespace has no owner",
      mend: () => world.shell(`kubectl label namespace acme-gone ${LABELS.ownerUid}-`),
      look: later,
    },
    {
      code: 502,
      fault: "a Claim has lost its claimant",
      break: () =>
        world.platform.create(
          Claim,
          newClaim({ scope: "org", claimed: "gone" }, { kind: "Org", name: "gone" }, new Date()),
        ),
      words: "1 Claim has no owner",
      mend: () =>
        world.platform.delete(
          Claim,
          newClaim({ scope: "org", claimed: "gone" }, { kind: "Org", name: "gone" }, new Date()).metadata as {
            name: string;
          },
        ),
      look: later,
    },
    {
      code: 503,
      fault: "a deletion does not end",
      break: async () => {
        const metadata = { ...inSpace("stuck"), finalizers: ["cupola.dev/test"] };
        await world.admin.create(App, { metadata, spec: { name: "stuck" } });
        await world.admin.delete(App, inSpace("stuck"));
      },
      words: "App stuck has been ending for 1",
      mend: () => world.admin.patch(App, inSpace("stuck"), { type: "merge", body: { metadata: { finalizers: null } } }),
      look: later,
    },
    {
      code: 504,
      fault: "an app is not ready",
      break: () => world.setStatus(App, inSpace("shop"), ready("False", "Crashed")),
      words: "1 App is not ready (Crashed)",
      mend: () => world.setStatus(App, inSpace("shop"), ready("True", "Running")),
      look: later,
    },
    {
      code: 505,
      fault: "an app runs with a rendering that this version does not have",
      break: async () => {
        const { metadata } = await world.admin.get(Process, inSpace("shop.web"));
        await makeLrp("old", metadata.uid ?? "", "0");
      },
      words: "1 LRP runs with rendering 0",
      mend: () => removeLrp("old"),
      look: later,
    },
    {
      code: 506,
      fault: "a broker does not answer",
      break: async () => {
        const key = { namespace: SYSTEM_NAMESPACE, name: "db" };
        const credentialsSecretRef = { name: "cupola-broker-credentials", prefix: "db" };
        await world.admin.create(ServiceBroker, {
          metadata: key,
          spec: { name: "db", url: "https://broker.example.org", credentialsSecretRef },
        });
        await world.setStatus(ServiceBroker, key, ready("False", "Unreachable"));
      },
      words: "the broker db does not serve (Unreachable): it is Unreachable",
      mend: () => world.admin.delete(ServiceBroker, { namespace: SYSTEM_NAMESPACE, name: "db" }),
      look: later,
    },
  ];
}
