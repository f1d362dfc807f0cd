// A Rollout from its start to its end, with the plans of all controllers that take part and a runner in between.
import { describe, expect, test } from "vitest";
import type { App } from "../../crds/app/app.ts";
import type { LRP } from "../../crds/lrp/lrp.ts";
import type { Revision } from "../../crds/revision/revision.ts";
import type { Rollout } from "../../crds/rollout/rollout.ts";
import { rolloutProcessGUID } from "../../crds/rollout/rules.ts";
import { anApp, anLRP, aProcess, aRevision, aRollout } from "../../crds/testing/objects.ts";
import {
  findLRPOf,
  findRolloutVersions,
  findRolloutWithoutRevision,
  findRunningRevision,
  planRolloutStep,
} from "../shared/rollouts.ts";
import { planRolloutReady, planRolloutStatus } from "./plan.ts";

const NOW = new Date("2026-01-01T00:00:00Z");
const content = { description: "", dropletRef: { name: "d1" }, processes: [] };
type State = "Starting" | "Running" | "Crashed";

/** The world that the controllers see: one app with a web process. */
class World {
  app: App;
  wanted: number;
  rollouts: Rollout[] = [];
  revisions: Revision[] = [aRevision(1, content)];
  lrps: LRP[] = [];
  /** Versions whose instances crash instead of running. */
  broken = new Set<string>();
  /** The least number of instances that took requests. */
  least: number;
  /** The most instances that existed. */
  most: number;

  constructor(wanted: number) {
    this.wanted = wanted;
    this.least = this.most = wanted;
    this.app = anApp({ state: "Started", droplet: { name: "d1" } }, { status: { revision: "shop-1" } });
    this.setInstances("1", wanted);
    this.run();
  }

  add(spec: object = {}, name = `r${this.rollouts.length + 1}`): void {
    const creationTimestamp = `2026-01-01T00:00:0${this.rollouts.length}Z`;
    this.rollouts.push(aRollout(spec, { name, metadata: { creationTimestamp } }));
  }

  change(spec: object, name = "r1"): void {
    this.rollouts = this.rollouts.map((rollout) =>
      rollout.metadata.name === name ? { ...rollout, spec: { ...rollout.spec, ...spec } } : rollout,
    );
  }

  /** As the runner would: all instances become what their version allows. */
  run(state: State = "Running"): void {
    this.lrps = this.lrps.map((lrp) => {
      const is = this.broken.has(lrp.spec.revision) ? "Crashed" : state;
      const before = new Map((lrp.status?.instances ?? []).map((one) => [one.index, one]));
      const instances = Array.from({ length: lrp.spec.instances }, (_, index) => {
        const known = before.get(index);
        return known?.state === "Running" && is !== "Crashed" ? known : { index, state: is, ready: is === "Running" };
      });
      return { ...lrp, status: { ...lrp.status, instances } };
    });
    this.count();
  }

  private count(): void {
    const all = this.lrps.flatMap(({ spec, status }) =>
      (status?.instances ?? []).filter(({ index }) => index < spec.instances),
    );
    this.least = Math.min(this.least, all.filter(({ ready }) => ready).length);
    this.most = Math.max(
      this.most,
      this.lrps.reduce((sum, { spec }) => sum + spec.instances, 0),
    );
  }

  private setInstances(revision: string, instances: number): void {
    const known = this.lrps.find(({ spec }) => spec.revision === revision);
    const spec = { ...known?.spec, revision, instances, processGUID: `guid-${revision}` };
    const others = this.lrps.filter((lrp) => lrp !== known);
    this.lrps = [...others, anLRP({ metadata: { name: `lrp-${revision}` }, spec }, known?.status)];
  }

  /** A reconcile of each controller: the app's, the process's, the Rollouts'. */
  reconcile(): void {
    const due = findRolloutWithoutRevision(this.history);
    const version = this.revisions.length + 1;
    if (due) this.revisions.push(aRevision(version, { ...content, rollout: due.metadata.name }));
    this.app = { ...this.app, status: { ...this.app.status, revision: this.running?.metadata.name } };
    this.reconcileProcess();
    this.count();
    this.rollouts = this.rollouts.map((rollout) => ({
      ...rollout,
      status: planRolloutStatus(this.inputOf(rollout), NOW).status as Rollout["status"],
    }));
  }

  private reconcileProcess(): void {
    const versions = findRolloutVersions(this.app, this.history, this.lrps);
    if (!versions) {
      const version = String(this.running?.spec.version);
      this.setInstances(version, this.wanted);
      this.lrps = this.lrps.filter(({ spec }) => spec.revision === version);
      return;
    }
    const step = planRolloutStep(versions, this.history, { lrps: this.lrps, wanted: this.wanted });
    for (const { lrp, instances } of step.rest) this.setInstances(lrp.spec.revision, instances);
    if (versions.target) this.setInstances(String(versions.target.spec.version), step.next);
  }

  inputOf(rollout: Rollout): Parameters<typeof planRolloutStatus>[0] {
    const status = { lrp: findLRPOf(this.running, this.lrps)?.metadata.name };
    const web = aProcess({ instances: this.wanted }, { status });
    return { rollout, app: this.app, processes: [web], lrps: this.lrps, history: this.history };
  }

  get history(): { rollouts: Rollout[]; revisions: Revision[] } {
    return { rollouts: this.rollouts, revisions: this.revisions };
  }

  get running(): Revision | undefined {
    return findRunningRevision(this.app, this.history);
  }

  /** By version: instances. */
  get counts(): Record<string, number> {
    return Object.fromEntries(this.lrps.map(({ spec }) => [spec.revision, spec.instances]));
  }

  states(): (string | undefined)[] {
    return this.rollouts.map(({ status }) => (status?.superseded ? `${status.state} superseded` : status?.state));
  }

  /** Until nothing changes. */
  settle(): this {
    for (let at = 0; at < 60; at++) {
      this.reconcile();
      this.run("Starting");
      this.reconcile();
      this.run();
    }
    return this;
  }
}

describe("rolling", () => {
  test.each([
    [1, 1],
    [3, 1],
    [4, 2],
    [2, 10],
  ])("%i instances, %i in flight: none is missed, the surge is as large as allowed", (wanted, maxInFlight) => {
    const world = new World(wanted);
    world.add({ maxInFlight });
    world.settle();
    expect(world.states()).toEqual(["Deployed"]);
    expect(world.counts).toEqual({ "2": wanted });
    expect(world.app.status?.revision).toBe("shop-2");
    expect(world.least).toBe(wanted);
    expect(world.most).toBe(wanted + Math.min(maxInFlight, wanted));
  });

  test("a new version that crashes takes nothing away, and the Rollout says why it stands still", () => {
    const world = new World(3);
    world.broken.add("2");
    world.add();
    world.settle();
    expect(world.counts).toEqual({ "1": 3, "2": 1 });
    expect(world.least).toBe(3);
    const [rollout] = world.rollouts;
    expect(rollout?.status).toMatchObject({ state: "Deploying", error: "instance 0 of the new version: Crashed" });
    const ready = planRolloutReady(world.inputOf(rollout!), rollout!.status!, {});
    expect(ready).toMatchObject({ status: "False", reason: "Crashed", isFailure: true });
  });

  test("canceled half-way: the former version is back in full", () => {
    const world = new World(4);
    world.add();
    world.reconcile();
    world.run();
    world.reconcile();
    world.run();
    world.reconcile();
    expect(world.counts).toEqual({ "1": 2, "2": 3 });
    world.change({ cancelled: true });
    world.settle();
    expect(world.states()).toEqual(["Canceled"]);
    expect(world.counts).toEqual({ "1": 4 });
    expect(world.app.status?.revision).toBe("shop-1");
    expect(world.least).toBe(4);
  });

  test("canceled before its Revision is made", () => {
    const world = new World(2);
    world.add({ cancelled: true });
    world.settle();
    expect(world.states()).toEqual(["Canceled"]);
    expect(world.counts).toEqual({ "1": 2 });
  });

  test("held: nothing starts or ends until it goes on", () => {
    const world = new World(3);
    world.add();
    world.reconcile();
    world.run();
    world.change({ paused: true });
    world.settle();
    expect(world.states()).toEqual(["Paused"]);
    expect(world.counts).toEqual({ "1": 3, "2": 1 });
    world.change({ paused: false });
    world.settle();
    expect(world.counts).toEqual({ "2": 3 });
  });

  test("its status lists the versions side by side", () => {
    const world = new World(2);
    world.add();
    world.reconcile();
    world.run();
    world.reconcile();
    expect(world.rollouts[0]?.status?.web).toEqual([
      { lrp: "lrp-1", guid: "guid-1", revision: "1", instances: 1, running: 1 },
      { lrp: "lrp-2", guid: "guid-2", revision: "2", instances: 2, running: 1 },
    ]);
  });
});

describe("canary", () => {
  test("without steps: one instance, then the rest", () => {
    const world = new World(3);
    world.add({ strategy: "canary" });
    world.settle();
    expect(world.states()).toEqual(["Paused"]);
    expect(world.counts).toEqual({ "1": 3, "2": 1 });
    world.change({ continuedSteps: 1 });
    world.settle();
    expect(world.states()).toEqual(["Deployed"]);
    expect(world.counts).toEqual({ "2": 3 });
    expect(world.least).toBe(3);
  });

  test("steps: each pauses with CF's numbers", () => {
    const world = new World(10);
    world.add({ strategy: "canary", canarySteps: [1, 35, 100].map((instanceWeight) => ({ instanceWeight })) });
    const seen = [0, 1, 2, 3].map((continuedSteps) => {
      world.change({ continuedSteps });
      world.settle();
      return [world.states()[0], world.counts];
    });
    expect(seen).toEqual([
      ["Paused", { "1": 10, "2": 1 }],
      ["Paused", { "1": 7, "2": 4 }],
      ["Paused", { "1": 0, "2": 10 }],
      ["Deployed", { "2": 10 }],
    ]);
    expect(world.least).toBe(10);
  });

  test("canceled when all instances are new: the former ones come back before they go", () => {
    const world = new World(3);
    world.add({ strategy: "canary", canarySteps: [{ instanceWeight: 100 }] });
    world.settle();
    expect(world.counts).toEqual({ "1": 0, "2": 3 });
    world.change({ cancelled: true });
    world.settle();
    expect(world.counts).toEqual({ "1": 3 });
    expect(world.states()).toEqual(["Canceled"]);
    expect(world.least).toBe(3);
  });
});

describe("superseded", () => {
  test("five at once: the newest deploys, the others end", () => {
    const world = new World(2);
    for (let at = 0; at < 5; at++) {
      world.add();
      world.reconcile();
      if (at === 2) world.run();
    }
    world.settle();
    expect(world.states()).toEqual([...Array<string>(4).fill("Deployed superseded"), "Deployed"]);
    expect(Object.values(world.counts)).toEqual([2]);
    expect(world.least).toBe(2);
  });

  test("a canary counts as canceled, and its instances go first", () => {
    const world = new World(3);
    world.add({ strategy: "canary" });
    world.settle();
    world.add();
    world.reconcile();
    world.run();
    world.reconcile();
    world.reconcile();
    expect(world.states()).toEqual(["Canceled superseded", "Deploying"]);
    expect(world.counts).toEqual({ "1": 2, "2": 0, "3": 2 });
    world.settle();
    expect(world.counts).toEqual({ "3": 3 });
    expect(world.least).toBe(3);
  });

  test("canceled after it superseded a rolling one: as in CF the version of that one comes back", () => {
    const world = new World(2);
    world.add();
    world.reconcile();
    world.run();
    world.broken.add("3");
    world.add({ previousDroplet: { name: "d1" } });
    world.settle();
    world.change({ cancelled: true }, "r2");
    world.settle();
    expect(world.states()).toEqual(["Deployed superseded", "Canceled"]);
    expect(world.counts).toEqual({ "2": 2 });
    expect(world.app.status?.revision).toBe("shop-2");
    expect(world.least).toBe(2);
  });
});

test("a stopped app starts with it", () => {
  const world = new World(1);
  world.add({ startsApp: true });
  world.reconcile();
  expect(world.states()).toEqual(["Deployed"]);
});

test("a restart of the app in between ends it", () => {
  const world = new World(2);
  world.add();
  world.reconcile();
  world.revisions.push(aRevision(3, content));
  world.app = { ...world.app, status: { revision: "shop-3" } };
  world.settle();
  expect(world.states()).toEqual(["Deployed"]);
  expect(world.counts).toEqual({ "3": 2 });
});

test("the process of a Rollout has a GUID of its own, always the same", () => {
  expect(rolloutProcessGUID(aRollout())).toMatch(/^[0-9a-f-]{36}$/);
  expect(rolloutProcessGUID(aRollout())).toBe(rolloutProcessGUID(aRollout({ cancelled: true })));
});
