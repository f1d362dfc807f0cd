// The leader removes builds of an earlier run; a process that has lost its Lease removes nothing.
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
/** A file that the next leader has made. */
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

test("the directories of an interrupted try are removed", async () => {
  await clear(() => true);
  expect([await exists(work()), await exists(root())]).toEqual([false, false]);
});

// Other systems have no second file system to rely on.
test.runIf(process.platform === "linux")(
  "the directories are removed when droplets lie on another file system",
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

test("a complete droplet is kept", async () => {
  await markRestored(root(), `sha256:${"0".repeat(64)}`);
  await clear(() => true);
  expect([await exists(work()), await exists(root())]).toEqual([false, true]);
});

test("a process that is not the leader removes nothing", async () => {
  await clear(() => false);
  expect([await exists(work()), await exists(root())]).toEqual([true, true]);
});

test.each([1, 2, 3])(
  "a process that is paused beyond its Lease after check %i removes nothing that its successor builds",
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
