// Which changes of an LRP's status are events, and what they say.
import { expect, test } from "vitest";
import type { AuditEvent } from "../../crds/audit-log/audit-log.ts";
import { eventIdentity } from "../../crds/guid.ts";
import type { LRP, LrpInstance } from "../../crds/lrp/lrp.ts";
import { createInstanceEvents } from "./instance-events.ts";

const now = new Date("2026-01-01T12:00:00Z");
const MINUTE_MS = 60_000;
const spec = {
  app: { guid: "A", name: "shop" },
  space: { guid: "S", name: "dev" },
  org: { guid: "O", name: "acme" },
  processGUID: "P",
  processType: "web",
  version: "V",
  instances: 2,
  readinessHealthCheck: { type: "http" },
};
const metadata = { name: "shop-web", uid: "U", resourceVersion: "7" };
const lrp = (...instances: Partial<LrpInstance>[]): LRP =>
  ({ metadata, spec, status: { instances } }) as unknown as LRP;
const withSpec = (change: object, of: LRP): LRP => ({ ...of, spec: { ...of.spec, ...change } });
const details = "APP/PROC/WEB: Exited with status 1";
const running = { index: 0, state: "Running", ready: true, guid: "I" } as const;
const starting = { index: 0, state: "Starting", ready: false } as const;
const crashed = { index: 0, state: "Crashed", ready: false, crashCount: 1 } as const;
const unready = { ...running, ready: false };
const other = { ...running, guid: "J" };

/** The events of an LRP that goes through these states, a minute from one to the next. */
function listSeen(states: readonly LRP[]): AuditEvent[] {
  const see = createInstanceEvents();
  return states.slice(1).flatMap((state, at) => see(states[at]!, state, new Date(now.getTime() + at * MINUTE_MS)));
}
const typesOf = (states: readonly LRP[]): string[] =>
  listSeen(states).map(
    ({ type, data }) =>
      `${type.replace("audit.app.process.", "")} ${(JSON.parse(data ?? "{}") as { index: number }).index}`,
  );

test.each<[name: string, states: LRP[], events: string[]]>([
  ["the first crash", [lrp({ index: 0 }), lrp({ index: 0, crashCount: 1 })], ["crash 0", "app.crash 0"]],
  ["one more crash", [lrp(crashed), lrp({ ...crashed, crashCount: 2 })], ["crash 0", "app.crash 0"]],
  ["the same crash", [lrp(crashed), lrp({ ...running, crashCount: 1 })], []],
  ["a count that starts again", [lrp({ index: 0, crashCount: 3 }), lrp({ index: 0 })], []],
  [
    "of several only one",
    [lrp({ index: 0 }, { index: 1 }), lrp({ index: 0 }, { index: 1, crashCount: 1 })],
    ["crash 1", "app.crash 1"],
  ],
  ["a crash and a new start at once", [lrp(running), lrp({ ...other, crashCount: 1 })], ["crash 0", "app.crash 0"]],
  ["no status", [{ metadata, spec } as unknown as LRP, { metadata, spec } as unknown as LRP], []],
  [
    "a crash and its new run",
    [
      lrp(running),
      lrp(unready),
      lrp(crashed),
      lrp({ ...starting, crashCount: 1 }),
      lrp({ ...other, crashCount: 1 }),
    ].map((one) => withSpec({ readinessHealthCheck: { type: "process" } }, one)),
    ["crash 0", "app.crash 0"],
  ],
  [
    "a crash whose count began anew",
    [lrp({ ...running, crashCount: 3 }), lrp({ ...other, crashCount: 1 })],
    ["crash 0", "app.crash 0"],
  ],
  ["a crash that is not counted yet", [lrp(running), lrp({ ...crashed, crashCount: 0 }), lrp(other)], []],
])("%s", (_name, states, events) => {
  expect(typesOf(states)).toEqual(events);
});

test.each<[name: string, states: LRP[], events: string[]]>([
  ["lost and regained", [lrp(running), lrp(unready), lrp(running)], ["not-ready 0", "ready 0"]],
  ["the first of a start", [lrp(starting), lrp(unready), lrp(running)], []],
  [
    "regained by another run",
    [lrp(running), lrp(unready), lrp(crashed), lrp({ ...other, crashCount: 1 })],
    ["not-ready 0", "crash 0", "app.crash 0"],
  ],
  [
    "that comes and goes each minute",
    Array.from({ length: 9 }, (_, at) => lrp(at % 2 === 0 ? running : unready)),
    ["not-ready 0", "ready 0", "not-ready 0", "ready 0"],
  ],
  [
    "of a process without a check of its own",
    [lrp(running), lrp(unready), lrp(running)].map((one) =>
      withSpec({ readinessHealthCheck: { type: "process" } }, one),
    ),
    [],
  ],
  ["of an instance that stops for a restart", [lrp(running), lrp({ ...unready, restart: "b" })], []],
  ["of an instance that is scaled away", [lrp(running), withSpec({ instances: 0 }, lrp(unready))], []],
  ["at the end of all", [lrp(running), { ...lrp(unready), metadata: { ...metadata, deletionTimestamp: "x" } }], []],
])("readiness %s", (_name, states, events) => {
  expect(typesOf(states)).toEqual(events);
});

test.each<[name: string, states: LRP[], events: string[]]>([
  ["by another one at once", [lrp(running), lrp(other)], ["rescheduling 0"]],
  ["once the other one runs", [lrp(running), lrp(starting), lrp(other), lrp(other)], ["rescheduling 0"]],
  ["by one that still starts", [lrp(running), lrp(starting)], []],
  ["by none: its kubelet restarted", [lrp(running), lrp(starting), lrp(running)], []],
  ["by one for which there is no room", [lrp(running), lrp({ ...starting, state: "Down" })], []],
  ["by none: one instance less", [lrp(running, { ...running, index: 1 }), lrp(running)], []],
  ["by none: scaled away and back", [lrp(running), lrp(starting), lrp(), lrp(starting), lrp(other)], []],
  [
    "by none: the end of all",
    [lrp(running), lrp(starting), { ...lrp(other), metadata: { ...metadata, deletionTimestamp: "x" } }],
    [],
  ],
  [
    "by request",
    [lrp(running), withSpec({ restartInstances: { 0: "b" } }, lrp(running)), lrp(starting), lrp(other)],
    [],
  ],
  [
    "by request while it starts",
    [lrp(running), lrp(starting), withSpec({ restartInstances: { 0: "b" } }, lrp(starting)), lrp(running), lrp(other)],
    [],
  ],
  [
    "by a request that only the status told",
    [
      lrp(running),
      lrp({ ...running, restart: "b" }),
      lrp({ ...starting, restart: "b" }),
      lrp({ ...other, restart: "b" }),
    ],
    [],
  ],
  ["by a request that was not seen", [lrp(running), lrp(starting), lrp({ ...other, restart: "b" })], []],
])("an instance is replaced %s", (_name, states, events) => {
  expect(typesOf(states)).toEqual(events);
});

test("an event names app, process, space, org and the exit", () => {
  const [event, ofApp] = listSeen([lrp(), lrp({ index: 0, crashCount: 1, guid: "I", host: "10.0.0.1", details })]);
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

test.each([
  ["has neither any more", crashed],
  ["starts again already", { ...other, host: "10.0.0.2", crashCount: 1 }],
])("a crash names the run that ended and its host, when the instance %s", (_case, after) => {
  const [event] = listSeen([lrp({ ...running, host: "10.0.0.1" }), lrp(after)]);
  expect(JSON.parse(event?.data ?? "{}")).toMatchObject({ instance: "I", cell_id: "10.0.0.1" });
});

test("two processes that see the same change record the same event, also after another list", () => {
  const identities = (...states: LRP[]): string[] => listSeen(states).map(({ guid }) => eventIdentity(guid));
  const later = { ...metadata, resourceVersion: "9" };
  const afterCrash = lrp({ ...starting, crashCount: 1 });
  const crashes = identities(lrp(running), lrp(crashed));
  expect(new Set(crashes).size).toBe(2);
  expect(identities(lrp(running), { ...afterCrash, metadata: later })).toEqual(crashes);
  const [replaced] = identities(lrp(running), lrp(starting), lrp(other));
  expect(identities(lrp(running), { ...lrp(other), metadata: later })).toEqual([replaced]);
});

test("crashes of two runs are two events, though their count is the same", () => {
  const guids = listSeen([lrp(running), lrp(crashed), lrp({ ...other, crashCount: 0 }), lrp(crashed)]).map(({ guid }) =>
    eventIdentity(guid),
  );
  expect(new Set(guids).size).toBe(4);
});
