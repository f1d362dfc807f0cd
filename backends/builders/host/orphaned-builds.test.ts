// What an earlier run left is cleared by whoever leads, and by nobody who has been overtaken meanwhile.
import { mkdirSync, rmSync } from "node:fs";
import { access, mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { markRestored } from "../../host/restore-droplet.ts";
import { removeOrphanedBuilds } from "./orphaned-builds.ts";

let directory: string;
const work = (): string => join(directory, "staging", "b1.0a1b2c3d");
const root = (): string => join(directory, "droplets", "b1");
/** What the next leader has made. */
const next = (): string => join(root(), "next");

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "cupola-leftovers-"));
  for (const path of [work(), join(root(), "app")]) await mkdir(path, { recursive: true });
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const clear = (isLeader: () => boolean): Promise<void> =>
  removeOrphanedBuilds({ stagingDir: join(directory, "staging"), dropletsDir: join(directory, "droplets"), isLeader });
const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

test("what is left of one of several tries of a build is removed", async () => {
  await clear(() => true);
  expect([await exists(work()), await exists(root())]).toEqual([false, false]);
});

// Elsewhere there is no second file system that may be counted on.
test.runIf(process.platform === "linux")(
  "what is left of a build is removed, also where droplets lie on another file system",
  async () => {
    const memory = await mkdtemp("/dev/shm/cupola-leftovers-");
    try {
      await mkdir(join(memory, "b1.0a1b2c3d"));
      await removeOrphanedBuilds({
        stagingDir: memory,
        dropletsDir: join(directory, "droplets"),
        isLeader: () => true,
      });
      expect([await readdir(memory), await exists(root())]).toEqual([[], false]);
    } finally {
      await rm(memory, { recursive: true, force: true });
    }
  },
);

test("a droplet that is whole is kept", async () => {
  await markRestored(root(), `sha256:${"0".repeat(64)}`);
  await clear(() => true);
  expect([await exists(work()), await exists(root())]).toEqual([false, true]);
});

test("nothing is removed by whom another has overtaken", async () => {
  await clear(() => false);
  expect([await exists(work()), await exists(root())]).toEqual([true, true]);
});

test.each([1, 2, 3])(
  "one that stands still for longer than a lease after its look %i removes nothing that its successor builds",
  async (last) => {
    let looks = 0;
    await clear(() => {
      looks++;
      if (looks === last) {
        for (const path of [work(), root()]) rmSync(path, { recursive: true, force: true });
        for (const path of [join(directory, "staging", "b1.00000002"), next()]) mkdirSync(path, { recursive: true });
      }
      return looks <= last;
    });
    expect(looks).toBeLessThanOrEqual(last + 1);
    expect([await exists(join(directory, "staging", "b1.00000002")), await exists(next())]).toEqual([true, true]);
  },
);
