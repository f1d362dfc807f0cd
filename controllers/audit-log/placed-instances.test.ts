// Audit events of instances on other clusters, from the changes of a decision's status.
import { expect, test } from "vitest";
import { App } from "../../crds/app/app.ts";
import { LABELS } from "../../crds/labels.ts";
import { Org } from "../../crds/org/org.ts";
import { PlacementDecision, type PlacedLRP } from "../../crds/placement-decision/placement-decision.ts";
import { Process } from "../../crds/process/process.ts";
import { Space } from "../../crds/space/space.ts";
import { makeObject } from "../../crds/testing/objects.ts";
import { Namespace } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { createInstanceEvents } from "./instance-events.ts";
import { listPlacedChanges, placeEvents } from "./placed-instances.ts";

const now = new Date("2026-01-01T12:00:00Z");
const running = { index: 1, state: "Running", ready: true, guid: "I", host: "10.0.0.1" } as const;
const crashed = { index: 1, state: "Crashed", ready: false, crashCount: 1, details: "Exited with status 7" } as const;

const placed = (instance: NonNullable<PlacedLRP["instances"]>[number], change: Partial<PlacedLRP> = {}): PlacedLRP => ({
  name: "west",
  lrp: "shop-web",
  revision: "7",
  version: "V",
  readinessCheck: "http",
  class: "deployment",
  processGUID: "P",
  memoryMB: 64,
  diskMB: 64,
  logRateLimitBytesPerSecond: -1,
  wanted: 1,
  indexes: [{ start: 1, end: 1 }],
  instances: [instance],
  ...change,
});

const decisionWith = (...clusters: PlacedLRP[]): PlacementDecision =>
  makeObject(PlacementDecision, "shop.web", {
    metadata: { namespace: "acme-dev", uid: "D", resourceVersion: "7" },
    spec: { segment: "shared", app: "A", processType: "web", assignments: [] },
    status: { clusters },
  });

function seen(...states: PlacementDecision[]): string[] {
  const see = createInstanceEvents();
  return states
    .slice(1)
    .flatMap((state, at) => listPlacedChanges(states[at]!, state).flatMap(([old, lrp]) => see(old, lrp, now)))
    .map(({ type, data = "" }) => `${type} ${(JSON.parse(data) as { index: number }).index}`);
}

test("a crash, a lost readiness and a replacement there are events as here", () => {
  expect(seen(decisionWith(placed(running)), decisionWith(placed(crashed)))).toEqual([
    "audit.app.process.crash 1",
    "app.crash 1",
  ]);
  const unready = { ...running, ready: false };
  expect(seen(decisionWith(placed(running)), decisionWith(placed(unready)))).toEqual(["audit.app.process.not-ready 1"]);
  const other = { ...running, guid: "J" };
  expect(seen(decisionWith(placed(running)), decisionWith(placed(other)))).toEqual([
    "audit.app.process.rescheduling 1",
  ]);
});

test("the platform's own LRPs, which tell their events themselves, and a silent cluster tell none", () => {
  const local = { name: "local" };
  expect(seen(decisionWith(placed(running, local)), decisionWith(placed(crashed, local)))).toEqual([]);
  const silent = { unreachableSince: "12:00" };
  expect(seen(decisionWith(placed(running)), decisionWith(placed(crashed, silent)))).toEqual([]);
});

test("an instance of an LRP that ends is not missed", () => {
  const other = placed({ ...running, guid: "J" }, { deleting: true });
  expect(seen(decisionWith(placed(running)), decisionWith(other))).toEqual([]);
});

/** Objects by kind and name. */
function readerOf(objects: readonly KubeObject[]): Reader {
  return {
    find: ({ kind }: { kind: string }, { name }: { name: string }) =>
      objects.find((one) => one.kind === kind && one.metadata.name === name),
    byUid: ({ kind }: { kind: string }, uid: string) =>
      objects.find((one) => one.kind === kind && one.metadata.uid === uid),
  } as unknown as Reader;
}

test("an event names the app, its space and its org; without them there is none", () => {
  const [change] = listPlacedChanges(decisionWith(placed(running)), decisionWith(placed(crashed)));
  const events = createInstanceEvents()(...change!, now);
  const inSpace = { namespace: "acme-dev" };
  const owned = (uid: string) => ({ labels: { [LABELS.ownerUid]: uid, [LABELS.space]: "S", [LABELS.org]: "O" } });
  const read = readerOf([
    makeObject(Process, "shop.web", { metadata: inSpace, spec: { appRef: { name: "shop" }, type: "web" } }),
    makeObject(App, "shop", { metadata: inSpace, spec: { name: "Shop" } }),
    makeObject(Space, "dev", { metadata: { namespace: "acme", uid: "SU" }, spec: {} }),
    makeObject(Org, "acme", { metadata: { uid: "OU" }, spec: {} }),
    { ...Namespace, metadata: { name: "acme-dev", ...owned("SU") } } as unknown as KubeObject,
    { ...Namespace, metadata: { name: "acme", ...owned("OU") } } as unknown as KubeObject,
  ]);
  const named = placeEvents(read, { ...inSpace, name: "shop.web" }, events);
  const shared = { target: { guid: "A", type: "app", name: "Shop" }, spaceGUID: "S", orgGUID: "O" };
  expect(named).toMatchObject([
    { type: "audit.app.process.crash", actor: { guid: "P", type: "process", name: "web" }, ...shared },
    { type: "app.crash", actor: { guid: "A", type: "app", name: "Shop" }, ...shared },
  ]);
  expect(JSON.parse(named[0]?.data ?? "")).toMatchObject({ instance: "I", exit_status: 7, version: "V" });
  expect(placeEvents(readerOf([]), { ...inSpace, name: "shop.web" }, events)).toEqual([]);
});
