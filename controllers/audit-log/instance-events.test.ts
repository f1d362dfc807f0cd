// Which changes of an LRP's status are events, and what they say.
import { expect, test } from "vitest";
import { eventIdentity } from "../../crds/guid.ts";
import type { LRP, LrpInstance } from "../../crds/lrp/lrp.ts";
import { listInstanceEvents, listTerminations } from "./instance-events.ts";

const now = new Date("2026-01-01T12:00:00Z");
const spec = {
  app: { guid: "A", name: "shop" },
  space: { guid: "S", name: "dev" },
  org: { guid: "O", name: "acme" },
  processGUID: "P",
  processType: "web",
  version: "V",
};
const metadata = { name: "shop-web", uid: "U", resourceVersion: "7" };
const lrp = (...instances: Partial<LrpInstance>[]): LRP =>
  ({ metadata, spec, status: { instances } }) as unknown as LRP;
const details = "APP/PROC/WEB: Exited with status 1";
const running = { index: 0, state: "Running", ready: true, guid: "I" } as const;
const typesOf = (old: LRP, after: LRP, wasTerminated = () => false): string[] =>
  listInstanceEvents({ old, lrp: after, wasTerminated }, now).map(
    ({ type, data }) =>
      `${type.replace("audit.app.process.", "")} ${(JSON.parse(data ?? "{}") as { index: number }).index}`,
  );

test.each<[name: string, old: LRP, lrp: LRP, events: string[]]>([
  ["the first crash", lrp({ index: 0 }), lrp({ index: 0, crashCount: 1 }), ["crash 0", "app.crash 0"]],
  ["one more crash", lrp({ index: 0, crashCount: 1 }), lrp({ index: 0, crashCount: 2 }), ["crash 0", "app.crash 0"]],
  ["the same crash", lrp({ index: 0, crashCount: 1 }), lrp({ index: 0, crashCount: 1, state: "Running" }), []],
  ["a count that starts again", lrp({ index: 0, crashCount: 3 }), lrp({ index: 0 }), []],
  [
    "of several only one",
    lrp({ index: 0 }, { index: 1 }),
    lrp({ index: 0 }, { index: 1, crashCount: 1 }),
    ["crash 1", "app.crash 1"],
  ],
  [
    "a crash and a new start at once",
    lrp(running),
    lrp({ ...running, guid: "J", crashCount: 1 }),
    ["crash 0", "app.crash 0"],
  ],
  ["no status", {} as LRP, { spec, metadata } as unknown as LRP, []],
  ["lost readiness", lrp(running), lrp({ ...running, ready: false }), ["not-ready 0"]],
  ["regained readiness", lrp({ ...running, ready: false }), lrp(running), ["ready 0"]],
  ["the first readiness of a start", lrp({ index: 0, state: "Starting", ready: false }), lrp(running), []],
  ["another instance at once", lrp(running), lrp({ ...running, guid: "J" }), ["rescheduling 0"]],
  [
    "another instance that starts",
    lrp(running),
    lrp({ index: 0, state: "Starting", ready: false }),
    ["rescheduling 0"],
  ],
  ["an instance for which there is no room", lrp(running), lrp({ index: 0, state: "Down", ready: false }), []],
  ["one instance less", lrp(running, { ...running, index: 1 }), lrp(running), []],
  [
    "the end of all",
    lrp(running),
    { ...lrp({ index: 0, state: "Starting", ready: false }), metadata: { ...metadata, deletionTimestamp: "x" } },
    [],
  ],
])("%s", (_name, old, after, events) => {
  expect(typesOf(old, after)).toEqual(events);
});

test("an instance whose restart was asked for is not rescheduled", () => {
  expect(typesOf(lrp(running), lrp({ ...running, guid: "J" }), () => true)).toEqual([]);
  const asked = { ...lrp(running), spec: { ...spec, restartInstances: { 0: "b", 1: "a" } } } as unknown as LRP;
  const before = {
    ...lrp(running, { ...running, index: 1, guid: "J" }),
    spec: { ...spec, restartInstances: { 0: "a", 1: "a" } },
  } as unknown as LRP;
  expect(listTerminations(before, asked)).toEqual(["I"]);
});

test("an event names app, process, space, org and the exit", () => {
  const crashed = lrp({ index: 0, crashCount: 1, guid: "I", host: "10.0.0.1", details });
  const [event, ofApp] = listInstanceEvents({ old: lrp(), lrp: crashed, wasTerminated: () => false }, now);
  const data = {
    instance: "I",
    index: 0,
    cell_id: "10.0.0.1",
    reason: "CRASHED",
    exit_description: details,
    exit_status: 1,
  };
  const shown = (one: typeof event) => ({ ...one, guid: undefined, data: JSON.parse(one?.data ?? "{}") as object });
  expect(shown(event)).toEqual({
    at: "2026-01-01T12:00:00.000Z",
    type: "audit.app.process.crash",
    actor: { guid: "P", type: "process", name: "web" },
    target: { guid: "A", type: "app", name: "shop" },
    spaceGUID: "S",
    orgGUID: "O",
    data: { ...data, crash_count: 1, version: "V" },
  });
  expect(shown(ofApp)).toMatchObject({ type: "app.crash", actor: { guid: "A", type: "app", name: "shop" }, data });
});

test("two processes that see the same change record the same event", () => {
  const identities = (at: Date): string[] =>
    listInstanceEvents({ old: lrp(), lrp: lrp({ index: 0, crashCount: 1 }), wasTerminated: () => false }, at).map(
      ({ guid }) => eventIdentity(guid),
    );
  expect(identities(new Date(1))).toEqual(identities(new Date(2)));
  expect(new Set(identities(now)).size).toBe(2);
});
