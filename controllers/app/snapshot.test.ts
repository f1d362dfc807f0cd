// When a snapshot is due, its content, and its description.
import { describe, expect, test } from "vitest";
import { aDroplet, anApp, aProcess, aRevision, aRunner } from "../../crds/test-objects.ts";
import { describeChange, isSnapshotDue, planSnapshot, type RevisionSpec, type SnapshotInput } from "./snapshot.ts";

const started = { state: "Started", droplet: { name: "d1" } };
const base: SnapshotInput = {
  app: anApp(started),
  droplet: aDroplet(),
  processes: [aProcess()],
  env: [],
  classes: [aRunner()],
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

describe("a snapshot", () => {
  test("settles every default", () => {
    expect(nextOf(base)).toEqual({
      appRef: { name: "shop" },
      version: 1,
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
