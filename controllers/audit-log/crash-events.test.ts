// Which changes of an LRP's status are crashes, and what their events say.
import { expect, test } from "vitest";
import type { LRP, LrpInstance } from "../../crds/lrp/lrp.ts";
import { listCrashEvents } from "./crash-events.ts";

const now = new Date("2026-01-01T12:00:00Z");
const spec = {
  app: { guid: "A", name: "shop" },
  space: { guid: "S", name: "dev" },
  org: { guid: "O", name: "acme" },
  processGUID: "P",
  processType: "web",
};
const lrp = (...instances: Partial<LrpInstance>[]): LRP => ({ spec, status: { instances } }) as unknown as LRP;
const details = "APP/PROC/WEB: Exited with status 1";

test.each<[name: string, old: LRP, lrp: LRP, indexes: number[]]>([
  ["the first crash", lrp({ index: 0 }), lrp({ index: 0, crashCount: 1 }), [0]],
  ["one more crash", lrp({ index: 0, crashCount: 1 }), lrp({ index: 0, crashCount: 2 }), [0]],
  ["the same crash", lrp({ index: 0, crashCount: 1 }), lrp({ index: 0, crashCount: 1, state: "Running" }), []],
  ["a count that starts again", lrp({ index: 0, crashCount: 3 }), lrp({ index: 0 }), []],
  ["of several only one", lrp({ index: 0 }, { index: 1 }), lrp({ index: 0 }, { index: 1, crashCount: 1 }), [1]],
  ["no status", {} as LRP, { spec } as unknown as LRP, []],
])("%s", (_name, old, after, indexes) => {
  const events = listCrashEvents(old, after, now);
  expect(events.map(({ data }) => (JSON.parse(data ?? "{}") as { index: number }).index)).toEqual(indexes);
});

test("an event names app, process, space, org and the exit", () => {
  const [event] = listCrashEvents(lrp(), lrp({ index: 0, crashCount: 1, guid: "I", host: "10.0.0.1", details }), now);
  expect({ ...event, guid: undefined, data: JSON.parse(event?.data ?? "{}") as object }).toEqual({
    at: "2026-01-01T12:00:00.000Z",
    type: "audit.app.process.crash",
    actor: { guid: "P", type: "process", name: "web" },
    target: { guid: "A", type: "app", name: "shop" },
    spaceGUID: "S",
    orgGUID: "O",
    data: {
      instance: "I",
      index: 0,
      cell_id: "10.0.0.1",
      reason: "CRASHED",
      exit_description: details,
      exit_status: 1,
    },
  });
});
