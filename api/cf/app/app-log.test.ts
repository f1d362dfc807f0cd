// The line that each write leaves in the app's log.
import { expect, test } from "vitest";
import { App } from "../../../crds/app/app.ts";
import { Build } from "../../../crds/build/build.ts";
import { Droplet } from "../../../crds/droplet/droplet.ts";
import { Package } from "../../../crds/package/package.ts";
import { Process } from "../../../crds/process/process.ts";
import { Route } from "../../../crds/route/route.ts";
import { toAppLogLine, type Write } from "./app-log.ts";

const of = (spec: object) => ({ apiVersion: "v", kind: "K", metadata: { name: "x" }, spec });
const stopped = of({ state: "Stopped" });
const started = of({ state: "Started" });
const web = of({ type: "web", appRef: { name: "x" } });

test.each<[write: [Write["verb"], Write["ref"], Write["object"], object?], line: string | undefined]>([
  [["create", App, stopped], "Created app with guid G"],
  [["patch", App, stopped, { state: "Started", restart: "1" }], "Starting app with guid G"],
  [["patch", App, started, { state: "Started", restart: "1" }], "Restarted app with guid G"],
  [["patch", App, started, { state: "Stopped" }], "Stopping app with guid G"],
  [["patch", App, started, { env: [{ name: "A", value: "secret" }] }], "Updated app with guid G"],
  [["patch", App, started], "Updated app with guid G"],
  [["delete", App, started], "Deleted app with guid G"],
  [["create", Process, web], 'Added process: "web"'],
  [["patch", Process, web, { instances: 2, memoryMB: 64 }], 'Scaling process: "web"'],
  [["patch", Process, web, { command: "x", instances: 2 }], 'Updating process: "web"'],
  [["patch", Process, web, {}], 'Updating process: "web"'],
  [["patch", Process, web, { restartInstances: { 1: "now" } }], 'Terminating process: "web", index: "1"'],
  [["create", Package, of({})], "Adding app package for app with guid G"],
  [["patch", Package, of({}), { content: {} }], "Uploading app package for app with guid G"],
  [["patch", Package, of({}), {}], undefined],
  [["delete", Package, of({})], "Deleting app package for app with guid G"],
  [["create", Build, of({})], "Creating build for app with guid G"],
  [["delete", Droplet, of({})], "Deleting droplet for app with guid G"],
  [["create", Route, of({})], undefined],
])("write %#", ([verb, ref, object, changes], line) => {
  const write = { verb, ref, object, ...(changes && { changes: changes as Record<string, unknown> }) };
  expect(toAppLogLine(write, "G")).toBe(line);
});
