// The Services behind routes, what a class lacks, and whether a route has an instance that answers.
import { describe, expect, test, vi } from "vitest";
import { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import { NotPermitted } from "../../../kube/cache/errors.ts";
import { WritableStore } from "../../../kube/cache/store.ts";
import type { ReconcileResult } from "../../../kube/controller/controller.ts";
import { BINDING_INDEXES } from "./binding-watches.ts";
import { aBinding, aDestination, aDestinationLRP, anotherDestination } from "./testing/fixtures.ts";
import { findLimitation, planServices, serviceName } from "./plan.ts";
import { presentBinding } from "./present-binding.ts";
import { judgeInstances } from "./ready-instances.ts";
import { serviceController } from "./services.ts";

describe("Services", () => {
  test("are shared by the routes of a process, whatever their class", () => {
    expect(planServices(aBinding("gateway", { hostname: "other.apps.example" }))).toEqual(
      planServices(aBinding("ingress")),
    );
    expect(serviceName(aDestination)).not.toBe(serviceName({ ...aDestination, processType: "api" }));
    expect(serviceName(aDestination)).not.toBe(serviceName({ ...aDestination, port: 9090 }));
    expect(serviceName({ ...aDestination, app: "9".repeat(40) })).toMatch(/^s-9[-a-z0-9]{1,49}$/);
  });

  test("say that an app speaks HTTP/2 in clear", () => {
    const binding = aBinding("ingress", { destinations: [{ ...aDestination, protocol: "http2" }] });
    expect(planServices(binding)[0]).toMatchObject({ spec: { ports: [{ appProtocol: "kubernetes.io/h2c" }] } });
  });

  test("are not made for a class that needs none", () => {
    expect(planServices(aBinding("ingress", { class: "none" }))).toEqual([]);
    expect(planServices(aBinding("ingress", { class: "local" }))).toEqual([]);
  });
});

describe("the controller of Services", () => {
  const [own, other] = ["acme-dev", "acme-other"];
  const fromOther = (): RouteBinding => {
    const binding = aBinding("gateway", { destinations: [{ ...aDestination, namespace: own }] });
    const labels = { "cupola.dev/space-guid": "of-other", "cupola.dev/org-guid": "of-other" };
    return { ...binding, metadata: { ...binding.metadata, name: "wide", namespace: other, labels } };
  };
  const name = serviceName(aDestination);
  const service = { metadata: { name, namespace: own, uid: "u", labels: {} } };

  /** The bindings of each namespace; "parked" for one that cannot be read. */
  async function reconcile(
    namespaces: Record<string, readonly RouteBinding[] | "parked">,
  ): Promise<{ result?: ReconcileResult; error?: unknown; deleted: number }> {
    const store = new WritableStore<RouteBinding>(RouteBinding, {
      indexes: BINDING_INDEXES,
      onFault: (error) => expect.unreachable(String(error)),
    });
    store.switchToNamespaces();
    const feeds = Object.entries(namespaces).map(([namespace, bindings]) => {
      const feed = store.namespaceStore(namespace);
      if (bindings === "parked") feed.setState("parked", "Forbidden");
      else feed.replace([...bindings], "1");
      return { feed, bindings };
    });
    for (const { feed, bindings } of feeds) if (bindings !== "parked") feed.setState("watching");
    const read = {
      byIndex: (_ref: unknown, index: string, value: string, where?: string) => store.byIndex(index, value, where),
      list: () => store.list(),
    };
    const remove = vi.fn(() => Promise.resolve());
    try {
      const result = await serviceController.reconcile(service as never, { read, client: { delete: remove } } as never);
      return { result, deleted: remove.mock.calls.length };
    } catch (error) {
      return { error, deleted: remove.mock.calls.length };
    }
  }

  test("deletes one that no route needs, but not while routes of a space cannot be read", async () => {
    expect(await reconcile({ [own]: [], [other]: [] })).toEqual({ result: {}, deleted: 1 });
    expect(await reconcile({ [own]: [], [other]: "parked" })).toEqual({ error: expect.any(NotPermitted), deleted: 0 });
  });

  test("keeps one that a route of its own space needs while others cannot be read", async () => {
    expect(await reconcile({ [own]: [aBinding("gateway")], [other]: "parked" })).toMatchObject({
      result: { spec: { type: "ClusterIP" } },
      deleted: 0,
    });
  });

  test("adds its space's labels once a route of its space needs it, and never those of another", async () => {
    const wide = await reconcile({ [own]: [], [other]: [fromOther()] });
    expect(wide).toMatchObject({ result: { spec: { type: "ClusterIP" } }, deleted: 0 });
    expect(wide.result?.labels).toBeUndefined();
    expect(await reconcile({ [own]: [aBinding("ingress")], [other]: [fromOther()] })).toMatchObject({
      result: { labels: { "cupola.dev/space-guid": aBinding("ingress").spec.space.guid } },
    });
  });

  test("one for a route of another space begins with the labels of its app's LRPs", () => {
    const lrp = aDestinationLRP(undefined);
    lrp.metadata.labels = { "cupola.dev/space-guid": "of-own", "cupola.dev/org-guid": "of-own", other: "x" };
    const [draft] = planServices(fromOther(), [lrp]);
    expect(draft?.metadata).toMatchObject({
      namespace: own,
      labels: { "cupola.dev/space-guid": "of-own", "cupola.dev/org-guid": "of-own" },
    });
    expect(draft?.metadata.labels).not.toHaveProperty("other");
    expect(planServices(fromOther())[0]?.metadata.labels).not.toHaveProperty(["cupola.dev/space-guid"]);
  });
});

describe("a class says what it lacks", () => {
  const foreignDestination = { ...aDestination, namespace: "acme-other" };
  const many = (count: number): object[] =>
    Array.from({ length: count }, (_, at) => ({ ...aDestination, port: 8000 + at }));
  test.each<[string, "ingress" | "gateway", object, { isServed: boolean; services: number } | "nothing"]>([
    ["a TCP route", "ingress", { port: 1234 }, { isServed: false, services: 0 }],
    ["a TCP route", "gateway", { port: 1234 }, "nothing"],
    ["an internal route", "gateway", { internal: true }, { isServed: false, services: 0 }],
    [
      "a second destination",
      "ingress",
      { destinations: [aDestination, anotherDestination] },
      { isServed: true, services: 1 },
    ],
    ["a 17th destination", "gateway", { destinations: many(17) }, { isServed: true, services: 16 }],
    ["a second destination", "gateway", { destinations: [aDestination, anotherDestination] }, "nothing"],
    ["an app of another space", "ingress", { destinations: [foreignDestination] }, { isServed: true, services: 0 }],
    ["an app of another space", "gateway", { destinations: [foreignDestination] }, "nothing"],
    ["least-connection", "ingress", { loadBalancing: "least-connection" }, { isServed: true, services: 1 }],
    ["least-connection", "gateway", { loadBalancing: "least-connection" }, { isServed: true, services: 1 }],
    ["round-robin", "gateway", { loadBalancing: "round-robin" }, "nothing"],
    ["a route to nothing", "ingress", { destinations: [] }, "nothing"],
    ["a wildcard", "ingress", { hostname: "*.apps.example" }, "nothing"],
  ])("%s, class %s", (_what, name, change, want) => {
    const binding = aBinding(name, change);
    const limitation = findLimitation(binding);
    expect(limitation && { isServed: limitation.isServed, services: planServices(binding).length }).toEqual(
      want === "nothing" ? undefined : want,
    );
  });

  test("in Ready when it serves nothing, else in Limited, which ends with its cause", () => {
    const instances = {};
    expect(presentBinding(aBinding("ingress", { port: 1234 }), { instances }).ready).toMatchObject({
      status: "False",
      reason: "NotSupported",
    });
    const two = presentBinding(aBinding("ingress", { destinations: [aDestination, anotherDestination] }), {
      instances,
    });
    expect(two).toMatchObject({
      ready: { status: "True" },
      conditions: [{ type: "Limited", status: "True", message: expect.stringContaining("shop (web)") as string }],
    });
    const limited = { status: { conditions: [{ type: "Limited", status: "True" }] } };
    expect(presentBinding({ ...aBinding("ingress"), ...limited } as never, { instances }).conditions).toMatchObject([
      { type: "Limited", status: "False" },
    ]);
    expect(presentBinding(aBinding("ingress"), { instances }).conditions).toBeUndefined();
  });
});

describe("the instances of a route", () => {
  const now = new Date("2026-01-01T01:00:00Z");
  const judge = (...lrps: ReturnType<typeof aDestinationLRP>[]): ReturnType<typeof judgeInstances> =>
    judgeInstances({ destinations: [aDestination], lrps, now });
  const instance = (state: "Starting" | "Running" | "Crashed", since = "2026-01-01T00:00:00Z") => ({
    index: 0,
    state,
    ready: false,
    since,
  });
  const NOT_SERVED = { ready: { status: "False", reason: "NoReadyInstance", isFailure: true } };

  test.each<[string, ReturnType<typeof aDestinationLRP>[]]>([
    ["none is wanted: the app is stopped", []],
    ["none is wanted: scaled to 0", [aDestinationLRP({}, { instances: 0 })]],
    ["one is ready", [aDestinationLRP({ runningInstances: 1 })]],
    [
      "one of another version is ready",
      [aDestinationLRP({ runningInstances: 0 }), aDestinationLRP({ runningInstances: 2 })],
    ],
  ])("%s: no problem", (_what, lrps) => expect(judge(...lrps)).toEqual({}));

  test("is a problem at once when all have crashed, and when none has started in a minute", () => {
    const recent = { made: "2026-01-01T00:59:59Z" };
    expect(judge(aDestinationLRP({ instances: [instance("Crashed")] }, recent))).toMatchObject(NOT_SERVED);
    expect(judge(aDestinationLRP({ instances: [instance("Starting")] }))).toMatchObject(NOT_SERVED);
    expect(judge(aDestinationLRP(undefined))).toMatchObject(NOT_SERVED);
  });

  test("is no problem in the first minute of a start, and looked at again when that has passed", () => {
    const recent = { made: "2026-01-01T00:59:30Z" };
    expect(judge(aDestinationLRP(undefined, recent))).toEqual({ requeueAfterMs: 30_000 });
    expect(judge(aDestinationLRP({ instances: [instance("Starting", "2026-01-01T00:59:50Z")] }))).toEqual({
      requeueAfterMs: 50_000,
    });
  });

  test("of another app or process type do not count", () => {
    const lrp = aDestinationLRP({ runningInstances: 0 });
    expect(judgeInstances({ destinations: [anotherDestination], lrps: [lrp], now })).toEqual({});
    expect(judgeInstances({ destinations: [{ ...aDestination, processType: "api" }], lrps: [lrp], now })).toEqual({});
  });
});
