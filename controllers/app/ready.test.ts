// Ready of an App, case by case.
import { describe, expect, test } from "vitest";
import type { Build } from "../../crds/build/build.ts";
import type { Process } from "../../crds/process/process.ts";
import { aBuild, aDroplet, anApp, aProcess } from "../../crds/testing/objects.ts";
import { planAppReady, type AppParts } from "./ready.ts";

const REVISION = "shop-2";
const droplet = aDroplet();
const started = anApp({ state: "Started", droplet: { name: "d1" } });

interface Given {
  ready?: [status: "True" | "False", reason: string, message?: string];
  running?: number;
  revision?: string | undefined;
  lrp?: string;
  generation?: number;
}

function aReportedProcess(type: string, instances: number | undefined, given: Given = {}): Process {
  const { ready, running = 0, revision = REVISION, lrp = "lrp", generation = 1 } = given;
  const [status, reason, message = ""] = ready ?? [];
  const condition = { type: "Ready", status, reason, message, lastTransitionTime: "2026-01-01T00:00:00Z" };
  return aProcess(
    { type, ...(instances !== undefined && { instances }) },
    {
      metadata: { name: `shop.${type}`, generation: 1 },
      status: {
        observedGeneration: generation,
        runningInstances: running,
        revision,
        lrp,
        conditions: ready ? [condition] : [],
      },
    },
  );
}

const aFinishedBuild = (state: string, creationTimestamp = "2026-01-02T00:00:00Z", error?: object): Build =>
  aBuild({}, { metadata: { name: `b-${state.toLowerCase()}`, creationTimestamp }, status: { state, error } });

const running = aReportedProcess("web", 2, { running: 2, ready: ["True", "Running"] });
const failed = aFinishedBuild("Failed", undefined, { code: "NoAppDetectedError", message: "nothing fits" });

function readyOf(app = started, parts: Partial<AppParts> = {}): { says: string; message: string; isFailure: boolean } {
  const ready = planAppReady(app, {
    processes: [running],
    builds: [],
    droplet,
    revision: REVISION,
    isStartDue: false,
    ...parts,
  });
  return {
    says: `${ready.status} ${ready.reason}`,
    message: ready.message,
    isFailure: ready.isFailure === true,
  };
}

describe("a started app", () => {
  const crashed = aReportedProcess("web", 2, {
    running: 1,
    ready: ["False", "Crashed", "1 of 2 instances run; instance 1: exit status 7"],
  });
  test.each<[string, Partial<AppParts>, string, string]>([
    ["all instances run", {}, "True Running", "2 of 2 instances run"],
    [
      "a process that wants none does not count",
      { processes: [running, aReportedProcess("worker", undefined, { ready: ["True", "NoInstances"] })] },
      "True Running",
      "2 of 2 instances run",
    ],
    [
      "an instance is on its way",
      {
        processes: [
          aReportedProcess("web", 2, {
            running: 1,
            ready: ["False", "Starting", "1 of 2 instances run; instance 1: why"],
          }),
        ],
      },
      "False Starting",
      "process web: 1 of 2 instances run; instance 1: why",
    ],
    [
      "a process says nothing yet",
      { processes: [aReportedProcess("web", 1, { revision: undefined })] },
      "False Starting",
      "web starting: 0 of 1 instances run",
    ],
    [
      "a process speaks of the revision before",
      { processes: [aReportedProcess("web", 2, { running: 2, ready: ["True", "Running"], revision: "shop-1" })] },
      "False Starting",
      "web starting: 2 of 2 instances run",
    ],
    [
      "a process speaks of its spec before",
      { processes: [aReportedProcess("web", 3, { running: 2, ready: ["True", "Running"], generation: 0 })] },
      "False Starting",
      "web starting: 2 of 3 instances run",
    ],
    [
      "a crash of the revision before does not count",
      { processes: [aReportedProcess("web", 1, { ready: ["False", "Crashed"], revision: "shop-1" })] },
      "False Starting",
      "web starting: 0 of 1 instances run",
    ],
    ["a build is under way beside it", { builds: [aBuild()] }, "True Running", "2 of 2 instances run"],
    [
      "it waits for its first build",
      { droplet: undefined, isStartDue: true, revision: undefined, builds: [aBuild()], processes: [] },
      "False DropletMissing",
      "droplet d1 does not exist in this namespace; push the app, or name another in spec.droplet",
    ],
  ])("%s", (_what, parts, says, message) => expect(readyOf(started, parts)).toMatchObject({ says, message }));

  test.each<[string, Partial<AppParts>, string, string]>([
    [
      "an instance crashed",
      { processes: [crashed] },
      "False Crashed",
      "process web: 1 of 2 instances run; instance 1: exit status 7",
    ],
    [
      "a crash counts before a failed build",
      { processes: [crashed], builds: [failed] },
      "False Crashed",
      "process web",
    ],
    [
      "a process that the revision does not have",
      {
        processes: [
          running,
          aReportedProcess("worker", 1, { revision: undefined, ready: ["False", "NotInRevision", "restart the app"] }),
        ],
      },
      "False NotInRevision",
      "process worker: restart the app",
    ],
    [
      "its last build failed",
      { builds: [aFinishedBuild("Staged", "2026-01-01T00:00:00Z"), failed] },
      "False BuildFailed",
      "build b-failed failed: NoAppDetectedError: nothing fits; push again, or delete the Build",
    ],
    [
      "a failed build says why there is no droplet",
      { builds: [failed], droplet: undefined, isStartDue: true, revision: undefined, processes: [] },
      "False BuildFailed",
      "build b-failed failed",
    ],
  ])("fails: %s", (_what, parts, says, message) =>
    expect(readyOf(started, parts)).toEqual({
      says,
      message: expect.stringContaining(message) as string,
      isFailure: true,
    }),
  );

  test("without a droplet it names the next step, unless a build is under way", () => {
    const app = anApp({ state: "Started" });
    const none = { droplet: undefined, isStartDue: true, revision: undefined, processes: [] };
    expect(readyOf(app, none)).toMatchObject({ says: "False NoDroplet", isFailure: true });
    expect(readyOf(app, { ...none, builds: [aBuild()] })).toMatchObject({ says: "False Staging", isFailure: false });
  });

  test("the droplet of a build that is under way is waited for", () => {
    const app = anApp({ state: "Started", droplet: { name: "b1" } });
    const none = { droplet: undefined, isStartDue: true, revision: undefined, processes: [] };
    expect(readyOf(app, { ...none, builds: [aBuild()] })).toMatchObject({ says: "False Staging", isFailure: false });
    expect(readyOf(app, none)).toMatchObject({ says: "False DropletMissing", isFailure: true });
  });
});

describe("a stopped app", () => {
  const stopped = anApp();
  const idle = aReportedProcess("web", 1, { ready: ["True", "Stopped"], lrp: undefined as unknown as string });
  idle.status = { runningInstances: 0 };
  test.each<[string, Partial<AppParts>, string]>([
    ["is Ready when nothing runs", { processes: [idle] }, "True Stopped"],
    ["is Ready before it has a process", { processes: [] }, "True Stopped"],
    ["is not while an instance still runs", { processes: [running] }, "False Stopping"],
    ["is not when its last build failed", { processes: [idle], builds: [failed] }, "False BuildFailed"],
    [
      "is Ready again when a later build succeeded",
      { processes: [idle], builds: [failed, aFinishedBuild("Staged", "2026-01-03T00:00:00Z")] },
      "True Stopped",
    ],
    [
      "is Ready when it has a droplet that is newer than the failed build",
      {
        processes: [idle],
        builds: [failed],
        droplet: { ...droplet, metadata: { ...droplet.metadata, creationTimestamp: "2026-01-03T00:00:00Z" } },
      },
      "True Stopped",
    ],
  ])("%s", (_what, parts, says) => expect(readyOf(stopped, parts).says).toBe(says));
});
