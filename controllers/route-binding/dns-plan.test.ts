// Which clusters a host's DNS record names.
import { expect, test } from "vitest";
import type { BackendClass } from "../../crds/backend-class/backend-class.ts";
import type { Cluster } from "../../crds/cluster/cluster.ts";
import type { PlacementDecision } from "../../crds/placement-decision/placement-decision.ts";
import type { RouteBinding } from "../../crds/route-binding/route-binding.ts";
import { planRecords, type RecordInput } from "./dns-plan.ts";

const HOST = "shop.apps.example";
const ADDRESS = { local: "192.0.2.1", east: "192.0.2.2", west: "192.0.2.3" };

const binding = (app: string, change: object = {}) =>
  ({
    spec: { class: "ingress", destinations: [{ appGUID: app, processType: "web" }], ...change },
  }) as unknown as RouteBinding;

/** Clusters, each with whether its instance of the app takes requests. */
const placed = (app: string, on: Record<string, boolean>, processType = "web") =>
  ({
    spec: {
      app,
      processType,
      assignments: Object.keys(on).map((cluster, index) => ({ cluster, indexes: [{ start: index, end: index }] })),
    },
    status: {
      clusters: Object.entries(on).map(([name, ready], index) => ({
        name,
        instances: [{ index, state: ready ? "Running" : "Starting", ready }],
      })),
    },
  }) as unknown as PlacementDecision;

interface Given {
  addresses?: string[];
  routers?: string[];
  silent?: boolean;
  refuses?: boolean;
}

const cluster = (name: string, { addresses, routers = ["ingress"], silent, refuses }: Given = {}) =>
  ({
    metadata: { name },
    spec: { routerAddresses: addresses ?? [ADDRESS[name as keyof typeof ADDRESS]] },
    status: {
      classes: routers.map((router) => ({ role: "router", name: router })),
      ...(silent && { silentSince: "2026-11-28T00:00:00Z" }),
      conditions: [
        silent || refuses
          ? { type: "Reachable", status: "False", reason: silent ? "Silent" : "CredentialRefused" }
          : { type: "Reachable", status: "True" },
      ],
    },
  }) as unknown as Cluster;

const router = (addresses = ADDRESS.local) =>
  ({ metadata: { name: "ingress" }, spec: { role: "router", parameters: { addresses } } }) as unknown as BackendClass;

const plan = (input: Partial<RecordInput>) =>
  planRecords({
    hostname: HOST,
    bindings: [binding("shop")],
    decisions: [placed("shop", { local: true, east: true, west: true })],
    clusters: [cluster("east"), cluster("west")],
    classes: [router()],
    ...input,
  });
const targets = (input: Partial<RecordInput>): string[] | undefined =>
  plan(input)?.records.flatMap((record) => record.targets);

test("a host has the routers of all clusters with a ready instance, for a minute", () =>
  expect(plan({})).toEqual({
    records: [{ dnsName: HOST, recordType: "A", recordTTL: 60, targets: [ADDRESS.local, ADDRESS.east, ADDRESS.west] }],
    ready: { status: "True", reason: "Written", message: `${HOST} leads to 192.0.2.1, 192.0.2.2, 192.0.2.3` },
  }));

test("addresses of IPv6 are a record of their own", () =>
  expect(plan({ clusters: [cluster("east", { addresses: ["2001:db8::2", "192.0.2.2"] })] })?.records).toMatchObject([
    { recordType: "A", targets: [ADDRESS.local, ADDRESS.east] },
    { recordType: "AAAA", targets: ["2001:db8::2"] },
  ]));

test("an app that no decision places has no record", () => {
  expect(plan({ decisions: [] })).toBeUndefined();
  expect(plan({ decisions: [placed("shop", { east: true }, "worker")] })).toBeUndefined();
});

test("clusters leave the record: without a ready instance, silent, without the router, given up", () => {
  expect(targets({ decisions: [placed("shop", { east: true, west: false })] })).toEqual([ADDRESS.east]);
  const clusters = [cluster("east", { silent: true }), cluster("west", { routers: ["gateway"] })];
  expect(targets({ clusters })).toEqual([ADDRESS.local]);
  expect(targets({ clusters: [cluster("west")] })).toEqual([ADDRESS.local, ADDRESS.west]);
});

test("a cluster that refuses the platform's credential may well serve, and stays", () =>
  expect(targets({ clusters: [cluster("east", { refuses: true })] })).toEqual([ADDRESS.local, ADDRESS.east]));

test("where nothing is ready, or all are silent, the name leads to where the app is placed", () => {
  expect(targets({ decisions: [placed("shop", { east: false, west: false })] })).toEqual([ADDRESS.east, ADDRESS.west]);
  expect(
    targets({
      decisions: [placed("shop", { east: true, west: true })],
      clusters: [cluster("east", { silent: true }), cluster("west", { silent: true })],
    }),
  ).toEqual([ADDRESS.east, ADDRESS.west]);
});

test("the paths of a host are one record: clusters that serve all of them, else any", () => {
  const bindings = [binding("shop"), binding("cart", { path: "/cart" }), binding("stopped", { path: "/old" })];
  expect(
    targets({ bindings, decisions: [placed("shop", { east: true, west: true }), placed("cart", { west: true })] }),
  ).toEqual([ADDRESS.west]);
  expect(targets({ bindings, decisions: [placed("shop", { east: true }), placed("cart", { west: true })] })).toEqual([
    ADDRESS.east,
    ADDRESS.west,
  ]);
});

test("routes with a service, and to apps of other spaces, lead to the platform's own cluster", () => {
  expect(targets({ bindings: [binding("shop", { routeService: { url: "https://guard.example" } })] })).toEqual([
    ADDRESS.local,
  ]);
  const destinations = [{ appGUID: "shop", processType: "web", namespace: "other" }];
  expect(targets({ bindings: [binding("shop", { destinations })] })).toEqual([ADDRESS.local]);
});

test("a cluster without an address is named, and no record is ever empty", () => {
  expect(plan({ clusters: [cluster("east"), cluster("west", { addresses: [] })] })?.ready.message).toContain(
    "; west without an address: set spec.routerAddresses",
  );
  const nothing = { clusters: [cluster("east", { addresses: [] })], classes: [router("lb.example.org")] };
  expect(plan(nothing)).toMatchObject({ records: [], ready: { status: "False", reason: "NoAddress" } });
  expect(plan({ decisions: [placed("shop", { east: true })], clusters: [] })).toBeUndefined();
});
