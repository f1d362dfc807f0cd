// Where uploaded buildpacks are unpacked, and with which modes.
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeAll, expect, test } from "vitest";
import { packMembers } from "../../../blobs/archive/tar.ts";
import { BlobNotFound } from "../../../blobs/blob-store.ts";
import { uploadedBuildpacks } from "./uploaded-buildpacks.ts";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "uploaded-buildpacks-"));
});
afterAll(() => rm(directory, { recursive: true }));

const DIGEST = `sha256:${"a".repeat(64)}`;
/** A store with one content, and how often it was read. */
function storeOf(prefix: string): { open: () => Promise<Readable>; reads: () => number } {
  const names = ["buildpack.toml", "bin/build", "bin/detect"];
  let reads = 0;
  return {
    reads: () => reads,
    open: () => {
      reads += 1;
      const member = (name: string) => ({
        path: prefix + name,
        type: "file" as const,
        mode: 0o644,
        size: 1,
        content: () => Readable.from(["x"]),
      });
      return Promise.resolve(packMembers(names.map(member)));
    },
  };
}

test.each([
  ["at the top", ""],
  ["in one folder", "mine/"],
])("a buildpack %s is unpacked once, its programs executable", async (what, prefix) => {
  const home = join(directory, what);
  const store = storeOf(prefix);
  const provide = uploadedBuildpacks(store, home);
  const [folder, same] = await Promise.all([provide(DIGEST), provide(DIGEST)]);
  expect([same, await uploadedBuildpacks(store, home)(DIGEST), store.reads()]).toEqual([folder, folder, 1]);
  expect(folder).toBe(join(home, "a".repeat(64), prefix).replace(/\/$/, ""));
  expect((await stat(join(folder, "bin", "build"))).mode & 0o777).toBe(0o755);
  expect(await readdir(home)).toEqual(["a".repeat(64)]);
});

test("a content that is gone says so", async () => {
  const provide = uploadedBuildpacks(
    { open: () => Promise.reject(new BlobNotFound("buildpacks", DIGEST)) },
    join(directory, "gone"),
  );
  await expect(provide(DIGEST)).rejects.toThrow("the uploaded buildpack's content is gone; upload it again");
});
