// When a snapshot is due, its content, and its description.
import { describe, expect, test } from "vitest";
import { Adjustment } from "../../crds/adjustment/adjustment.ts";
import { aDroplet, anApp, aProcess, aRevision, aRollout, aRunner, makeObject } from "../../crds/testing/objects.ts";
import { describeChange, isSnapshotDue, planSnapshot, type RevisionSpec, type SnapshotInput } from "./snapshot.ts";

const started = { state: "Started", droplet: { name: "d1" } };
const base: SnapshotInput = {
  app: anApp(started),
  droplet: aDroplet(),
  processes: [aProcess()],
  env: [],
  services: { env: [] },
  classes: [aRunner()],
  adjustments: [],
  revisions: [],
};

function nextOf(input: SnapshotInput): RevisionSpec {
  const planned = planSnapshot(input);
  if (!("next" in planned)) throw new Error("reuses a revision");
  return planned.next;
}

describe("when a snapshot is due", () => {
  const revision = aRevision(1, nextOf(base));
  test.each<[string, ReturnType<typeof anApp>, boolean]>([
    ["a stopped app: never", anApp({ restart: "x" }), false],
    ["a start", anApp(started), true],
    ["one in force", anApp(started, { status: { revision: "shop-1" } }), false],
    ["one in force that is gone", anApp(started, { status: { revision: "shop-9" } }), true],
    ["a restart nobody answered", anApp({ ...started, restart: "x" }, { status: { revision: "shop-1" } }), true],
    [
      "a restart that is answered",
      anApp({ ...started, restart: "x" }, { status: { revision: "shop-1", observedRestart: "x" } }),
      false,
    ],
    [
      "another droplet while it runs: at the next start",
      anApp({ ...started, droplet: { name: "d2" } }, { status: { revision: "shop-1" } }),
      false,
    ],
  ])("%s", (_what, app, due) => expect(isSnapshotDue(app, [revision])).toBe(due));
});

describe("adjustments", () => {
  const patch = { spec: { nodeSelector: { disk: "ssd" }, hostNetwork: true } };
  const adjustments = [makeObject(Adjustment, "shop.web", { spec: { processRef: { name: "shop.web" }, patch } })];
  const adjusting = aRunner("runner", {}, { adjustments: "podTemplate" });

  test("are in the revision, without what is left out, and make a new one", () => {
    const next = nextOf({ ...base, adjustments, classes: [adjusting] });
    expect(next.processes[0]?.adjustment).toBe('{"spec":{"nodeSelector":{"disk":"ssd"}}}');
    expect(describeChange(nextOf(base), next)).toBe("Process 'web' updated.");
  });

  test.each([
    ["of another process", "shop.worker", adjusting],
    ["on a runner that makes no pods", "shop.web", aRunner()],
  ])("%s are not", (_what, name, runner) => {
    const other = [makeObject(Adjustment, name, { spec: { processRef: { name }, patch } })];
    expect(nextOf({ ...base, adjustments: other, classes: [runner] }).processes[0]).not.toHaveProperty("adjustment");
  });
});

describe("files of bound services", () => {
  const files = { mountPath: "/etc/f", secretRef: { name: "shop-env-1" }, items: [{ key: "f0", path: "db/uri" }] };
  const services = { env: [{ name: "SERVICE_BINDING_ROOT", value: "/etc/f" }], files };

  test("are in the revision", () => {
    const capable = aRunner();
    capable.status = { ...capable.status, capabilities: { ...capable.status?.capabilities, serviceFiles: "true" } };
    expect(nextOf({ ...base, services, classes: [capable] })).toMatchObject({
      services: services.env,
      serviceFiles: files,
    });
  });

  test("volumes are in the revision, for a runner that mounts them", () => {
    const volumes = [{ claimName: "models", mountPath: "/data", readOnly: true }];
    const mounting = { ...base, services: { env: [], volumes } };
    const capable = aRunner("runner", {}, { volumes: "persistentvolumeclaim" });
    expect(nextOf({ ...mounting, classes: [capable] })).toMatchObject({ volumes });
    expect(() => planSnapshot(mounting)).toThrow(/the class runner mounts no volumes/);
  });

  test("a runner that gives none is refused before the start", () => {
    expect(() => planSnapshot({ ...base, services })).toThrow(/gives instances no files of bound services/);
  });
});

describe("a snapshot", () => {
  test("settles every default", () => {
    expect(nextOf(base)).toEqual({
      appRef: { name: "shop" },
      version: 1,
      release: 1,
      description: "Initial revision.",
      dropletRef: { name: "d1" },
      env: [],
      processes: [
        {
          type: "web",
          memoryMB: 1024,
          diskMB: 1024,
          logRateLimitBytesPerSecond: 1048576,
          healthCheck: { type: "port" },
          readinessHealthCheck: { type: "process" },
          ports: [8080],
          runner: "runner",
        },
      ],
    });
  });

  test("ports are the process's, else the droplet's", () => {
    expect(nextOf({ ...base, droplet: aDroplet({ ports: [3000] }) }).processes[0]?.ports).toEqual([3000]);
    expect(
      nextOf({ ...base, droplet: aDroplet({ ports: [3000] }), processes: [aProcess({ ports: [4000, 4001] })] })
        .processes[0]?.ports,
    ).toEqual([4000, 4001]);
  });

  const latest = aRevision(3, { ...nextOf(base), version: 3 });
  test("a start reuses the latest revision when nothing differs", () => {
    expect(planSnapshot({ ...base, revisions: [aRevision(1, nextOf(base)), latest] })).toEqual({ reuse: latest });
  });
  test.each([
    ["runs still the latest: the stop is not carried out yet, and would be missed", "shop-3", "shop-web-3", true],
    ["has no instances any more", "shop-3", undefined, false],
    ["runs another one", "shop-1", "shop-web-1", false],
  ])("a start when a process %s", (_what, revision, lrp, isNew) => {
    const process = { ...aProcess(), status: { revision, lrp } };
    const app = anApp({ ...started, restart: "now" });
    expect("next" in planSnapshot({ ...base, app, processes: [process], revisions: [latest] })).toBe(isNew);
  });
  test("a start with something else makes the next", () => {
    expect(nextOf({ ...base, processes: [aProcess({ memoryMB: 64 })], revisions: [latest] })).toMatchObject({
      version: 4,
      description: "Process 'web' updated.",
    });
  });
  test("a restart makes a new revision although nothing differs", () => {
    const app = anApp({ ...started, restart: "x" }, { status: { revision: "shop-3" } });
    expect(nextOf({ ...base, app, revisions: [latest] })).toMatchObject({
      version: 4,
      restart: "x",
      description: "Restarted.",
    });
  });
  test("a restart interrupted before its status was written reuses its revision", () => {
    const app = anApp({ ...started, restart: "x" }, { status: { revision: "shop-3" } });
    const answer = aRevision(4, nextOf({ ...base, app, revisions: [latest] }));
    expect(planSnapshot({ ...base, app, revisions: [latest, answer] })).toEqual({ reuse: answer });
  });
});

describe("the version that cf shows", () => {
  const first = aRevision(1, nextOf(base));
  const app = anApp({ ...started, restart: "x" }, { status: { revision: "shop-1" } });
  const restarted = { ...base, app, revisions: [first] };
  const off = { features: { revisions: false } };

  test.each<[string, SnapshotInput, number | undefined, string]>([
    ["the first", base, 1, "Initial revision."],
    ["a restart with nothing new repeats it", restarted, 1, "Restarted."],
    [
      "another size is nothing new for CF",
      { ...restarted, processes: [aProcess({ memoryMB: 64 })] },
      1,
      "Process 'web' updated.",
    ],
    ["another droplet", { ...restarted, droplet: aDroplet({}, "d2") }, 2, "New droplet deployed."],
    [
      "another command and environment",
      { ...restarted, env: [{ name: "A", value: "1" }], processes: [aProcess({ command: "run" })] },
      2,
      "Custom start command added for 'web' process. New environment variables deployed.",
    ],
    ["none while the feature is off", { ...base, app: anApp({ ...started, ...off }) }, undefined, "Initial revision."],
    [
      "the first after the feature was off",
      { ...restarted, revisions: [aRevision(1, { ...first.spec, release: undefined })] },
      1,
      "Initial revision.",
    ],
  ])("%s", (_what, input, release, description) => {
    const next = nextOf(input);
    expect({ release: next.release, description: next.description }).toEqual({ release, description });
  });
});

describe("a snapshot for a rollout", () => {
  const first = aRevision(1, nextOf({ ...base, processes: [aProcess({ command: "old" })] }));
  const second = aRevision(2, nextOf({ ...base, droplet: aDroplet({}, "d2"), revisions: [first] }));
  const app = anApp(started, { status: { revision: "shop-2" } });
  const input = { ...base, app, droplet: aDroplet({}, "d2"), revisions: [first, second] };

  test("is one of its own, although nothing differs", () =>
    expect(nextOf({ ...input, rollout: aRollout() })).toMatchObject({ version: 3, release: 2, rollout: "r1" }));
  test("has the sizes that the rollout brings, for web only", () => {
    const rollout = aRollout({ memoryMB: 64, diskMB: 65, logRateLimitBytesPerSecond: 66, instances: 9 });
    const worker = aProcess({ type: "worker" });
    const [web, other] = nextOf({ ...input, processes: [aProcess(), worker], rollout }).processes;
    expect(web).toMatchObject({ memoryMB: 64, diskMB: 65, logRateLimitBytesPerSecond: 66 });
    expect(other).toMatchObject({ type: "worker", memoryMB: 1024 });
  });
  test("that returns to a revision has its droplet, environment and commands", () => {
    const next = nextOf({ ...input, rollout: aRollout({ revision: { name: "shop-1" } }) });
    expect(next).toMatchObject({
      dropletRef: { name: "d1" },
      release: 3,
      description: "Custom start command added for 'web' process. New droplet deployed. Rolled back to revision 1.",
    });
    expect(next.processes[0]?.command).toBe("old");
  });
});

describe("a revision's description, in Cloud Foundry's words", () => {
  const before = nextOf(base);
  const web = before.processes[0]!;
  const worker = { ...web, type: "worker" };
  test.each<[string, Partial<RevisionSpec>, string]>([
    ["droplet", { dropletRef: { name: "d2" } }, "New droplet deployed."],
    ["environment", { env: [{ name: "A", value: "1" }] }, "New environment variables deployed."],
    ["command", { processes: [{ ...web, command: "run" }] }, "Custom start command added for 'web' process."],
    ["process type", { processes: [web, worker] }, "New process type 'worker' added."],
    [
      "several, sorted",
      { dropletRef: { name: "d2" }, processes: [worker] },
      "New droplet deployed. New process type 'worker' added. Process type 'web' removed.",
    ],
  ])("%s", (_what, change, text) => expect(describeChange(before, { ...before, ...change })).toBe(text));

  test("a changed or removed command", () => {
    const with_ = { ...before, processes: [{ ...web, command: "run" }] };
    expect(describeChange(with_, before)).toBe("Custom start command removed for 'web' process.");
    expect(describeChange(with_, { ...before, processes: [{ ...web, command: "walk" }] })).toBe(
      "Custom start command updated for 'web' process.",
    );
  });
});
