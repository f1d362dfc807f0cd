// Processes for which the deletion of a Cluster waits.
import { expect, test } from "vitest";
import type { App } from "../../crds/app/app.ts";
import { PlacementDecision } from "../../crds/placement-decision/placement-decision.ts";
import type { Process } from "../../crds/process/process.ts";
import { anApp, aProcess, makeObject } from "../../crds/testing/objects.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { countHolding } from "./cluster.ts";

const deleting = { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } };
const started = anApp({ state: "Started" });
const assignments = [{ cluster: "west", indexes: [{ start: 0, end: 1 }], state: "Active", reason: "Chosen" }];
const decision = makeObject(PlacementDecision, "shop.web", {
  spec: { segment: "shared", app: "g", processType: "web", assignments },
});

function readerOf(app: App | undefined, process: Process | undefined): Reader {
  const find = ({ kind }: ResourceRef): unknown => (kind === "App" ? app : process);
  return { list: () => [decision], find } as unknown as Reader;
}

test.each<[string, App | undefined, Process | undefined, number]>([
  ["a process that runs there", started, aProcess(), 1],
  ["one that is being deleted", started, aProcess({}, deleting), 0],
  ["one that is gone", started, undefined, 0],
  ["one of a stopped app", anApp({ state: "Stopped" }), aProcess(), 0],
  ["one of an app that is being deleted", anApp({ state: "Started" }, deleting), aProcess(), 0],
  ["one of an app that is gone", undefined, aProcess(), 0],
])("%s", (_what, app, process, count) => expect(countHolding("west", readerOf(app, process))).toBe(count));

test("a process elsewhere", () => expect(countHolding("east", readerOf(started, aProcess()))).toBe(0));
