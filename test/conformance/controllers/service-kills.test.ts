// The leader that asks brokers is killed before each of its writes: a new one brings everything to its end, and the broker has neither more nor less than the platform.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { managedBindingController } from "../../../controllers/service-binding/managed.ts";
import { managedInstanceController } from "../../../controllers/service-instance/managed.ts";
import { createBrokerPace } from "../../../controllers/shared/osb/broker-pace.ts";
import { createInstanceTurns } from "../../../controllers/shared/osb/instance-turns.ts";
import { Namespace, Secret } from "../../../kube/api/builtin.ts";
import { mergeDiffNamed } from "../../../kube/api/merge-diff.ts";
import type { KubeObject, ObjectKey } from "../../../kube/api/object.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import { NotReady, type Controller, type ReconcileContext } from "../../../kube/controller/controller.ts";
import { mergePatch } from "../../../kube/api/merge-patch.ts";
import { Org } from "../../../crds/org/org.ts";
import { ServiceBinding } from "../../../crds/service-binding/service-binding.ts";
import { ServiceBroker } from "../../../crds/service-broker/service-broker.ts";
import { ServiceInstance } from "../../../crds/service-instance/service-instance.ts";
import { ServiceOffering } from "../../../crds/service-offering/service-offering.ts";
import { ServicePlan } from "../../../crds/service-plan/service-plan.ts";
import { Space } from "../../../crds/space/space.ts";
import { startTestBroker, type TestBroker } from "../../service-broker/test-broker.ts";

const SYSTEM = "cupola-system";
type Stored = KubeObject & { status?: { lastOperation?: { type: string; state: string } } };

let broker: TestBroker;
let objects: Stored[];
let clock: number;
/** Writes until the kill. */
let left: number;
beforeEach(async () => {
  broker = await startTestBroker();
  [objects, clock] = [makeWorld(broker.url), Date.parse("2026-01-01")];
});
afterEach(() => broker.close());

function makeWorld(url: string): Stored[] {
  const made = (ref: ResourceRef, metadata: object, spec: object = {}): Stored =>
    ({ kind: ref.kind, metadata: { uid: `uid-${ref.kind}`, generation: 1, ...metadata }, spec }) as unknown as Stored;
  const base64 = (text: string): string => Buffer.from(text).toString("base64");
  const secret = made(Secret, { name: "broker", namespace: SYSTEM, labels: { "cupola.dev/env": "allowed" } });
  return [
    made(Namespace, {
      name: "space",
      labels: {
        "cupola.dev/owner-uid": "uid-Space",
        "cupola.dev/space-guid": "space-guid",
        "cupola.dev/org-guid": "org-guid",
      },
    }),
    { ...made(Namespace, { name: "org", labels: { "cupola.dev/owner-uid": "uid-Org" } }) },
    made(Space, { name: "space", namespace: "org" }),
    made(Org, { name: "org" }),
    { ...secret, data: { username: base64(broker.username), password: base64(broker.password) } } as Stored,
    made(ServiceBroker, { name: "broker", namespace: SYSTEM }, { url, credentialsSecretRef: { name: "broker" } }),
    made(
      ServiceOffering,
      { name: "database", namespace: SYSTEM },
      {
        name: "database",
        catalogID: "service-1",
        brokerRef: { name: "broker" },
        tags: [],
        requires: [],
        bindable: true,
        bindingsRetrievable: true,
      },
    ),
    made(
      ServicePlan,
      { name: "small", namespace: SYSTEM },
      {
        name: "small",
        catalogID: "plan-small",
        offeringRef: { name: "database" },
        available: true,
        visibility: { type: "public" },
      },
    ),
    made(
      ServiceInstance,
      { name: "db", namespace: "space" },
      { type: "managed", tags: [], planRef: { namespace: SYSTEM, name: "small" } },
    ),
    made(
      ServiceBinding,
      { name: "reader", namespace: "space" },
      { type: "key", name: "reader", instanceRef: { name: "db" } },
    ),
  ];
}

function find(ref: ResourceRef, { namespace, name }: ObjectKey): Stored | undefined {
  return objects.find(
    (one) =>
      one.kind === ref.kind && one.metadata.name === name && (one.metadata.namespace ?? "") === (namespace ?? ""),
  );
}

const ofKind = (ref: ResourceRef): Stored[] => objects.filter(({ kind }) => kind === ref.kind);

/** At most one process at a time: each has its own memory. */
function contextOf(): ReconcileContext {
  const create = (ref: ResourceRef, draft: KubeObject): Promise<KubeObject> => {
    objects.push({ ...draft, kind: ref.kind });
    return Promise.resolve(draft);
  };
  return {
    read: { find, list: ofKind, byIndex: ofKind, byUid: (ref: ResourceRef) => ofKind(ref)[0] },
    client: {
      create,
      find: (ref: ResourceRef, key: ObjectKey) => Promise.resolve(find(ref, key)),
      list: (ref: ResourceRef) => Promise.resolve({ items: ofKind(ref) }),
    },
    now: () => new Date((clock += 20_000)),
    signal: AbortSignal.timeout(20_000),
    recordEvent: () => undefined,
  } as unknown as ReconcileContext;
}

const start = (make: (brokers: Parameters<typeof managedInstanceController>[0]) => Controller): Controller =>
  make({ pace: createBrokerPace(), turns: createInstanceTurns(), apiInfo: "https://api.example/v2/info" });

/** False once the process was killed before it. */
function writes(): boolean {
  return left-- !== 0;
}

function writeStatus(object: Stored, status: object | undefined): void {
  const patch = mergeDiffNamed(object.status, status as Record<string, unknown> | undefined);
  object.status = mergePatch(object.status ?? {}, patch ?? {}) as NonNullable<Stored["status"]>;
}

/** A pass; false when the process was killed in it. */
async function pass(controller: Controller, object: Stored): Promise<boolean> {
  const { finalizers = [] } = object.metadata;
  const isNeeded = controller.needsFinalizer?.(object, {} as never) ?? true;
  if (isNeeded && finalizers.length === 0) {
    if (!writes()) return false;
    object.metadata = { ...object.metadata, finalizers: ["cupola.dev/broker"] };
  }
  const result = await Promise.resolve(controller.reconcile(object, contextOf())).catch(toStatus);
  if (!writes()) return false;
  writeStatus(object, result.status);
  return true;
}

/** A wait that a request threw has no status. */
function toStatus(error: unknown): { status?: undefined } {
  if (error instanceof NotReady) return {};
  throw error;
}

/** A pass over a terminating object. */
async function finalPass(controller: Controller, object: Stored): Promise<boolean> {
  const waiting = await Promise.resolve(controller.finalize?.(object, contextOf())).catch(toStatus);
  if (!writes()) return false;
  if (waiting) writeStatus(object, waiting.status);
  else objects = objects.filter((one) => one !== object);
  return true;
}

/** Until `isDone`: with a new process after the kill. */
async function drive(
  make: typeof managedInstanceController,
  step: (controller: Controller) => Promise<boolean>,
  isDone: () => boolean,
): Promise<void> {
  let controller = start(make);
  for (let passes = 0; passes < 60 && !isDone(); passes++) if (!(await step(controller))) controller = start(make);
  expect(isDone()).toBe(true);
}

async function makeAndDelete(
  make: typeof managedInstanceController,
  object: Stored,
  path: string,
  kill: number,
): Promise<void> {
  left = kill;
  await drive(
    make,
    (controller) => pass(controller, object),
    () => object.status?.lastOperation?.state === "succeeded",
  );
  expect(broker.things()).toContain(path);
  left = kill;
  object.metadata = { ...object.metadata, deletionTimestamp: "2026-01-02T00:00:00Z" };
  await drive(
    make,
    (controller) => finalPass(controller, object),
    () => !objects.includes(object),
  );
  expect(broker.things()).not.toContain(path);
}

test("a binding that is deleted before its instance, which was restored without its status, too, has one again", async () => {
  const [[instance], [binding]] = [ofKind(ServiceInstance), ofKind(ServiceBinding)] as [[Stored], [Stored]];
  left = -1;
  for (const [make, object] of [
    [managedInstanceController, instance],
    [managedBindingController, binding],
  ] as const)
    await drive(
      make,
      (controller) => pass(controller, object),
      () => object.status?.lastOperation?.state === "succeeded",
    );
  delete instance.status;
  delete binding.status;
  binding.metadata = { ...binding.metadata, deletionTimestamp: "2026-01-02T00:00:00Z" };
  await drive(
    managedBindingController,
    (controller) => finalPass(controller, binding),
    () => !objects.includes(binding),
  );
  expect(broker.things()).toEqual([INSTANCE]);
});

test("a deletion may take as long as the plan allows that the broker has, whatever plan the instance names since", async () => {
  objects = objects.filter(({ kind }) => kind !== ServiceBinding.kind);
  const [[instance], [plan]] = [ofKind(ServiceInstance), ofKind(ServicePlan)] as [[Stored], [Stored]];
  Object.assign(plan["spec"] as object, { maximumPollingDuration: 100 });
  left = -1;
  await drive(
    managedInstanceController,
    (controller) => pass(controller, instance),
    () => instance.status?.lastOperation?.state === "succeeded",
  );
  const spec = { ...(plan["spec"] as object), catalogID: "plan-large", maximumPollingDuration: 604_800 };
  objects.push({ ...plan, metadata: { ...plan.metadata, name: "large" }, spec } as Stored);
  Object.assign(instance["spec"] as object, { planRef: { namespace: SYSTEM, name: "large" } });
  instance.metadata = { ...instance.metadata, deletionTimestamp: "2026-01-02T00:00:00Z" };
  broker.set({ behaviours: { deprovision: { async: { polls: 1000 } } } });
  await drive(
    managedInstanceController,
    (controller) => finalPass(controller, instance),
    () => instance.status?.lastOperation?.type === "delete" && instance.status.lastOperation.state === "failed",
  );
});

const asynchronous = { async: { polls: 1 } };
const INSTANCE = "/v2/service_instances/uid-ServiceInstance";
const kills = [0, 1, 2, 3, 4, 5, 6, 99];

describe.each<[string, Parameters<TestBroker["set"]>[0]]>([
  ["at once", {}],
  [
    "by itself",
    { behaviours: { provision: asynchronous, deprovision: asynchronous, bind: asynchronous, unbind: asynchronous } },
  ],
])("a broker that works %s", (_, control) => {
  test.each(kills)("an instance, with a kill before write %i", async (kill) => {
    broker.set(control);
    objects = objects.filter(({ kind }) => kind !== ServiceBinding.kind);
    const [instance] = ofKind(ServiceInstance) as [Stored];
    await makeAndDelete(managedInstanceController, instance, INSTANCE, kill);
    expect(broker.things()).toEqual([]);
  });

  test.each(kills)("a binding, with a kill before write %i", async (kill) => {
    const [[instance], [binding]] = [ofKind(ServiceInstance), ofKind(ServiceBinding)] as [[Stored], [Stored]];
    left = -1;
    await drive(
      managedInstanceController,
      (controller) => pass(controller, instance),
      () => instance.status?.lastOperation?.state === "succeeded",
    );
    broker.set(control);
    await makeAndDelete(managedBindingController, binding, `${INSTANCE}/service_bindings/uid-ServiceBinding`, kill);
    expect(broker.things()).toEqual([INSTANCE]);
    expect(broker.requests().filter(({ status }) => status === 409)).toEqual([]);
  });
});
