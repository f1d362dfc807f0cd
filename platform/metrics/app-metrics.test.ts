// Builds, starts, crashes and tasks are counted once, by the process that leads.
import { expect, test } from "vitest";
import type { KubeObject } from "../../kube/api/object.ts";
import { resourceId, type ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import type { Change } from "../../kube/cache/reader.ts";
import { createMetrics } from "../../kube/metrics/metrics.ts";
import { Build } from "../../crds/build/build.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { Task } from "../../crds/task/task.ts";
import { followApps } from "./app-metrics.ts";

type Listener = (change: Change<KubeObject>) => void;

/** Changes as a watch tells them, and a clock that stands still between them. */
async function startScene(leads = true) {
  const listeners = new Map<string, Listener[]>();
  const informers = {
    ensure: (ref: ResourceRef) => ({
      store: {
        onChange: (listener: Listener) => {
          listeners.set(resourceId(ref), [...(listeners.get(resourceId(ref)) ?? []), listener]);
          return () => undefined;
        },
      },
      release: () => undefined,
    }),
    status: () => [],
  } as unknown as Informers;
  const clock = { now: 0, leads };
  const metrics = await createMetrics();
  followApps(metrics, { informers, counts: () => clock.leads, now: () => clock.now });
  const tell = (ref: ResourceRef, change: Change<KubeObject>): void =>
    listeners.get(resourceId(ref))?.forEach((listener) => listener(change));
  const series = async (prefix: string): Promise<string[]> =>
    (await metrics.scrape()).split("\n").filter((line) => line.startsWith(prefix) && !line.includes("_bucket"));
  return { clock, tell, series };
}

const object = (uid: string, spec: object, status: object = {}): KubeObject =>
  ({ metadata: { uid, name: uid, namespace: "s" }, spec, status }) as unknown as KubeObject;
const added = (made: KubeObject, initial = false): Change<KubeObject> => ({ type: "added", object: made, initial });
const modified = (old: KubeObject, made: KubeObject): Change<KubeObject> => ({
  type: "modified",
  object: made,
  old,
  initial: false,
});

test("a build that was seen from its creation is counted once, with its time", async () => {
  const { clock, tell, series } = await startScene();
  const [begun, staged] = [object("b", { builder: "cnb" }), object("b", { builder: "cnb" }, { state: "Staged" })];
  tell(Build, added(begun));
  clock.now = 7_000;
  tell(Build, modified(begun, staged));
  tell(Build, modified(staged, staged));
  expect(await series("cupola_build")).toEqual([
    'cupola_builds_total{builder="cnb",result="staged"} 1',
    'cupola_build_seconds_sum{builder="cnb",result="staged"} 7',
    'cupola_build_seconds_count{builder="cnb",result="staged"} 1',
  ]);
});

test("a failed build is counted by its error; one that began before has no time", async () => {
  const { tell, series } = await startScene();
  const failed = object("b", {}, { state: "Failed", error: { code: "NoAppDetectedError", message: "" } });
  tell(Build, added(object("b", {}), true));
  tell(Build, modified(object("b", {}), failed));
  expect(await series("cupola_build")).toEqual([
    'cupola_builds_total{builder="default",result="NoAppDetectedError"} 1',
  ]);
});

test("what had ended before the first list, and what another leader counts, is not counted", async () => {
  const first = await startScene();
  first.tell(Build, added(object("b", {}, { state: "Staged" }), true));
  expect(await first.series("cupola_build")).toEqual([]);
  const standby = await startScene(false);
  standby.tell(Build, modified(object("b", {}), object("b", {}, { state: "Staged" })));
  expect(await standby.series("cupola_build")).toEqual([]);
});

test("a start lasts until all instances are ready for the first time; a crash that ends begins none", async () => {
  const { clock, tell, series } = await startScene();
  const at = (running: number): KubeObject =>
    object("l", { class: "process", instances: 2 }, { runningInstances: running });
  tell(LRP, added(at(0)));
  clock.now = 1_000;
  tell(LRP, modified(at(0), at(1)));
  clock.now = 3_000;
  tell(LRP, modified(at(1), at(2)));
  clock.now = 60_000;
  tell(LRP, modified(at(2), at(1)));
  tell(LRP, modified(at(1), at(2)));
  expect(await series("cupola_app_start")).toEqual([
    'cupola_app_start_seconds_sum{runner="process"} 3',
    'cupola_app_start_seconds_count{runner="process"} 1',
  ]);
});

test("each crash of an instance is counted", async () => {
  const { tell, series } = await startScene();
  const at = (...counts: number[]): KubeObject =>
    object(
      "l",
      { class: "process", instances: 2 },
      { instances: counts.map((crashCount, index) => ({ index, crashCount })) },
    );
  tell(LRP, added(at(3), true));
  tell(LRP, modified(at(3), at(4, 1)));
  tell(LRP, modified(at(4, 1), at(1, 0)));
  expect(await series("cupola_instance_crashes")).toEqual(['cupola_instance_crashes_total{runner="process"} 3']);
});

test("tasks are counted by result", async () => {
  const { tell, series } = await startScene();
  const running = object("t", {}, { state: "Running" });
  tell(Task, modified(running, object("t", {}, { state: "Failed" })));
  tell(Task, modified(running, object("u", {}, { state: "Succeeded" })));
  expect(await series("cupola_tasks")).toEqual([
    'cupola_tasks_total{result="Failed"} 1',
    'cupola_tasks_total{result="Succeeded"} 1',
  ]);
});
