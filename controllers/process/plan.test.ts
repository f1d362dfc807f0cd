// The content of an LRP, and which LRP a process has.
import { describe, expect, test } from "vitest";
import { LABELS } from "../../crds/labels.ts";
import type { LRP } from "../../crds/lrp/lrp.ts";
import { aDroplet, anLRP, aProcess, aRevision } from "../../crds/testing/objects.ts";
import { tenancy } from "../shared/testing/fixtures.ts";
import { planLRPUpdate, lrpName, planLRP, toUsable, type LRPInput } from "./lrp.ts";
import { planLRPs, planStopped, desiredInstances } from "./plan.ts";

const droplet = aDroplet();
const env = [
  { name: "COLOR", value: "blue" },
  { name: "VCAP_APPLICATION", value: "mine" },
  { name: "MEMORY_LIMIT", value: "mine" },
  { name: "LANG", value: "C" },
];

function inputAt(version: number): LRPInput {
  const web = {
    type: "web",
    memoryMB: 128,
    diskMB: 1024,
    logRateLimitBytesPerSecond: -1,
    healthCheck: { type: "port" },
    readinessHealthCheck: { type: "process" },
    ports: [8080],
    runner: "runner",
  };
  const revision = aRevision(version, { description: "", dropletRef: { name: "d1" }, env, processes: [web] });
  return {
    process: aProcess({ memoryMB: 128 }),
    processGUID: "app-guid",
    app: { guid: "app-guid", name: "My Shop", object: "shop" },
    tenancy,
    revision,
    snapshot: revision.spec.processes[0]!,
    droplet,
    apiURL: "http://api",
    uris: ["shop.example"],
    groupEnv: [
      { name: "COLOR", value: "of the group" },
      { name: "REGION", value: "eu" },
      { name: "MEMORY_LIMIT", value: "of the group" },
    ],
    capabilities: {},
  };
}

describe("the LRP", () => {
  const lrp = planLRP(inputAt(1), { instances: 2 }) as unknown as LRP;

  test("carries its class's finalizer and renderer version from the start", () => {
    const capabilities = { rendering: "2", finalizer: "runner.example.com/instances" };
    const { metadata, spec } = planLRP({ ...inputAt(1), capabilities }, { instances: 2 }) as unknown as LRP;
    expect([metadata.finalizers, spec.rendering]).toEqual([["runner.example.com/instances"], "2"]);
    expect(lrp.metadata.finalizers).toBeUndefined();
  });

  test("has no finalizer while a live replica does not know it", () => {
    const capabilities = { rendering: "2", finalizer: "runner.example.com/instances" };
    expect(toUsable(capabilities, () => false)).toEqual({ rendering: "2" });
    expect(toUsable(capabilities, (feature) => feature === "finalizer-at-creation")).toEqual(capabilities);
    expect(toUsable({}, () => true)).toEqual({});
  });

  test("is whole and labelled by the contract", () => {
    expect(lrp.metadata.labels).toMatchObject({
      [LABELS.app]: "app-guid",
      [LABELS.process]: "app-guid",
      [LABELS.processType]: "web",
      [LABELS.space]: "space-guid",
      [LABELS.org]: "org-guid",
      [LABELS.revision]: "1",
      [LABELS.sourceType]: "APP",
    });
    expect(lrp.metadata.annotations).toEqual({
      "cupola.dev/app-name": "My Shop",
      "cupola.dev/space-name": "dev",
      "cupola.dev/org-name": "Acme Inc.",
    });
    expect(lrp.metadata.name.length).toBeLessThanOrEqual(52);
    expect(lrp.spec).toMatchObject({
      class: "runner",
      rendering: "1",
      app: { guid: "app-guid", name: "My Shop" },
      processType: "web",
      revision: "1",
      instances: 2,
      memoryMB: 128,
      droplet: { guid: "uid-d1", kind: "docker" },
    });
    expect(Object.keys(lrp.spec)).not.toContain("type");
  });

  test("the platform's variables win, a user's others stay", () => {
    const values = new Map(lrp.spec.env.map((variable) => [variable.name, variable.value]));
    expect(values.get("COLOR")).toBe("blue");
    expect(values.get("LANG")).toBe("C");
    expect(values.get("REGION")).toBe("eu");
    expect(values.get("MEMORY_LIMIT")).toBe("128m");
    expect(values.get("VCAP_SERVICES")).toBe("{}");
    expect(JSON.parse(values.get("VCAP_APPLICATION") ?? "")).toMatchObject({
      application_name: "My Shop",
      uris: ["shop.example"],
      process_type: "web",
      limits: { mem: 128 },
      version: lrp.spec.version,
    });
  });

  test("once made it changes in instances and restarts only", () => {
    const served = anLRP({
      ...lrp,
      metadata: { ...lrp.metadata, labels: { ...lrp.metadata.labels, "cupola.dev/managed-by": "process", mine: "1" } },
    });
    expect(planLRPUpdate(served, { instances: 5, restartInstances: { "0": "x" } })).toEqual({
      ...lrp,
      spec: { ...lrp.spec, instances: 5, restartInstances: { "0": "x" } },
    });
    expect(planLRPUpdate(served, { instances: 2 })).toEqual(lrp);
  });
});

describe("versions", () => {
  const process = aProcess({ instances: 2 });
  const first = inputAt(1);
  const second = inputAt(2);
  const name = lrpName(process, second.revision);
  const old = (running: number): LRP => anLRP(planLRP(first, { instances: 2 }), { runningInstances: running });
  const current = (running: number, more: object = {}): LRP =>
    anLRP(planLRP(second, { instances: 2 }), { runningInstances: running, ...more });
  const plan = (existing: LRP[]): { names: (string | undefined)[]; ready: unknown; status: unknown } => {
    const result = planLRPs(process, {
      name,
      revision: "shop-2",
      existing,
      makeLRP: (instances) => planLRP(second, { instances }),
    });
    return {
      names: (result.children ?? []).map((child) => child.metadata.name),
      ready: result.ready,
      status: result.status,
    };
  };

  const deleting = (lrp: LRP): LRP => ({
    ...lrp,
    metadata: { ...lrp.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" },
  });

  test.each<[string, LRP[], string[]]>([
    ["nothing runs: the new LRP is made", [], [name]],
    ["the LRP of an earlier start is deleted first, though it serves", [old(2)], []],
    ["nothing is made while the LRP of an earlier start is being deleted", [deleting(old(2))], []],
    ["nothing is made while an LRP of the same name is being deleted", [deleting(current(2))], []],
    ["the new LRP is kept when an LRP of an earlier start is still there", [old(2), current(1)], [name]],
  ])("%s", (_what, existing, expected) => expect(plan(existing).names).toEqual(expected));

  test("a process whose earlier instances are stopping is not ready and runs nothing", () =>
    expect(plan([deleting(old(2))])).toMatchObject({
      ready: { status: "False", reason: "Stopping", message: expect.stringContaining("revision 1") as string },
      status: { runningInstances: 0, lrp: undefined, revision: "shop-2" },
    }));

  test.each<[string, LRP, object]>([
    ["starting", current(1), { status: "False", reason: "Starting", message: "1 of 2 instances run" }],
    [
      "crashed",
      current(1, {
        instances: [
          { index: 0, state: "Running", ready: true },
          { index: 1, state: "Crashed", ready: false, details: "exit status 7" },
        ],
      }),
      {
        status: "False",
        reason: "Crashed",
        message: "1 of 2 instances run; instance 1: exit status 7",
        isFailure: true,
      },
    ],
    ["running", current(2), { status: "True", reason: "Running", message: "2 of 2 instances run" }],
  ])("Ready says %s", (_what, lrp, ready) => expect(plan([lrp]).ready).toEqual(ready));

  test("an LRP that is being created adds nothing to the status", () =>
    expect(
      planLRPs(process, {
        name,
        revision: "shop-2",
        existing: [],
        makeLRP: (instances) => planLRP(second, { instances }),
      }),
    ).toEqual({
      children: [expect.anything()],
      keepStatus: true,
    }));
  test("the status names the current LRP", () =>
    expect(plan([current(2)]).status).toEqual({ runningInstances: 2, lrp: name, revision: "shop-2" }));
  test("a second run plans the same objects", () => {
    const made = planLRPs(process, {
      name,
      revision: "shop-2",
      existing: [],
      makeLRP: (instances) => planLRP(second, { instances }),
    }).children?.[0];
    const kept = planLRPs(process, {
      name,
      revision: "shop-2",
      existing: [anLRP(made ?? {})],
      makeLRP: () => ({ metadata: {} }),
    }).children?.[0];
    expect(kept).toEqual(made);
  });
  test("a stopped app has none", () => {
    const ready = { type: "Ready", status: "True", reason: "Running", message: "", lastTransitionTime: "" };
    const ran = aProcess({}, { status: { conditions: [ready] } });
    expect(planStopped(ran)).toMatchObject({
      children: [],
      status: { runningInstances: 0 },
      ready: { status: "True" },
    });
  });
  test("nothing is written about a process that never ran", () => {
    expect(planStopped(aProcess())).toEqual({ children: [], keepStatus: true });
    const granted = aProcess({}, { status: { quota: { instances: 1, memoryMB: 1, logRateLimitBytesPerSecond: 1 } } });
    expect(planStopped(granted)).toEqual({ children: [], keepStatus: true });
  });
  test.each([
    ["web", 1],
    ["worker", 0],
  ])("%s wants %i when nobody said", (type, count) => expect(desiredInstances(aProcess({ type }))).toBe(count));
});
