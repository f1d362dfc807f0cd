// When a droplet is unpacked anew.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ExitProblem } from "../../../crds/lrp/instance-problem.ts";
import { trackSpoiledDroplets } from "./spoiled-droplets.ts";

const shared = { changes: "/nonexistent/changes" };
const diskFull: ExitProblem = { kind: "diskFull", processType: "web", diskMB: 1 };
const droplet = { space: "s", digest: "sha256:0", root: "/droplets/a" };

/** A launcher that notes what is asked of it. */
function aLauncher() {
  const asked: string[] = [];
  const note =
    (what: string) =>
    async (at: string | { root: string }): Promise<void> => {
      await Promise.resolve();
      asked.push(`${what} ${typeof at === "string" ? at : at.root}`);
    };
  const launcher = { discard: note("discard"), restore: note("restore") };
  return { asked, launcher };
}

test("a droplet that an instance filled is discarded before the next start, once", async () => {
  const { asked, launcher } = aLauncher();
  const spoiled = trackSpoiledDroplets(() => false);
  await spoiled.restore(launcher, droplet);
  await spoiled.noteEnd(diskFull, droplet.root, shared);
  await spoiled.restore(launcher, { ...droplet, root: "/droplets/b" });
  await Promise.all([spoiled.restore(launcher, droplet), spoiled.restore(launcher, droplet)]);
  expect(asked).toEqual([
    "restore /droplets/a",
    "restore /droplets/b",
    "discard /droplets/a",
    "restore /droplets/a",
    "restore /droplets/a",
  ]);
});

test("nothing is discarded under a program that runs there; the start after it is", async () => {
  const { asked, launcher } = aLauncher();
  let isInUse = true;
  const spoiled = trackSpoiledDroplets(() => isInUse);
  await spoiled.noteEnd(diskFull, droplet.root, shared);
  await spoiled.restore(launcher, droplet);
  isInUse = false;
  await spoiled.restore(launcher, droplet);
  expect(asked).toEqual(["restore /droplets/a", "discard /droplets/a", "restore /droplets/a"]);
});

test.each<[string, ExitProblem, string]>([
  ["an end for its memory", { kind: "outOfMemory", processType: "web", memoryMB: 1 }, "/nonexistent"],
  ["an instance with files of its own", diskFull, mkdtempSync(join(tmpdir(), "cupola-changes-"))],
])("nothing is discarded after %s", async (_what, problem, changes) => {
  const { asked, launcher } = aLauncher();
  const spoiled = trackSpoiledDroplets(() => false);
  await spoiled.noteEnd(problem, droplet.root, { changes });
  await spoiled.restore(launcher, droplet);
  expect(asked).toEqual(["restore /droplets/a"]);
});
