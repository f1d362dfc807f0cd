// Unreferenced contents are removed after their grace, referenced ones stay, and nothing is removed while a kind cannot be read.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createDirectoryStore } from "../../blobs/directory/directory-store.ts";
import type { Blob, BlobStore } from "../../blobs/blob-store.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { NotPermitted } from "../../kube/cache/errors.ts";
import { resourceId, type ResourceRef } from "../../kube/api/resource-ref.ts";
import { removeUnusedBlobs } from "./blob-removal.ts";

const DAY_MS = 24 * 60 * 60_000;
let home: string;
let blobs: BlobStore;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "cupola-removal-"));
  blobs = await createDirectoryStore(home);
});
afterEach(() => rm(home, { recursive: true, force: true }));

const put = (text: string): Promise<Blob> =>
  blobs.put("space-1", "package", Readable.from([Buffer.from(text)]), { maxBytes: 1000 });

/** Reads these objects by kind; kinds in `hidden` are not readable. */
function reader(objects: Record<string, unknown[]>, hidden: readonly string[] = []): Reader {
  const list = (ref: ResourceRef): unknown[] => {
    if (hidden.includes(ref.kind)) throw new NotPermitted(resourceId(ref), "Forbidden");
    return objects[ref.kind] ?? [];
  };
  return { list } as unknown as Reader;
}

test("removes unreferenced contents once their day is over", async () => {
  const [used, staged, running, buildpack, unused] = await Promise.all(
    ["used", "staged", "running", "buildpack", "unused"].map(put),
  );
  const read = reader({
    Package: [{ spec: { content: used } }, { spec: {} }],
    Droplet: [{ spec: {} }],
    Staging: [
      { spec: { package: {}, buildpacks: [] }, status: { droplet: { content: staged } } },
      { spec: { package: {}, buildpacks: [{ name: "own", content: buildpack }, { name: "installed" }] } },
    ],
    LRP: [{ spec: { droplet: { content: running } } }],
  });
  expect(await removeUnusedBlobs({ blobs, read, now: Date.now() + DAY_MS - 60_000 })).toBe(0);
  expect(await removeUnusedBlobs({ blobs, read, now: Date.now() + DAY_MS + 60_000 })).toBe(1);
  expect(await blobs.has("space-1", unused?.digest ?? "")).toBe(false);
  for (const kept of [used, staged, running, buildpack])
    expect(await blobs.has("space-1", kept?.digest ?? "")).toBe(true);
});

test("a shorter grace removes sooner", async () => {
  await put("unused");
  const look = (now: number) => removeUnusedBlobs({ blobs, read: reader({}), now, graceMs: 120_000 });
  expect(await look(Date.now() + 60_000)).toBe(0);
  expect(await look(Date.now() + 180_000)).toBe(1);
});

test.each(["Package", "Droplet", "LRP", "Staging"])("removes nothing while %s cannot be read", async (kind) => {
  const blob = await put("unused");
  await expect(removeUnusedBlobs({ blobs, read: reader({}, [kind]), now: Date.now() + 2 * DAY_MS })).rejects.toThrow(
    NotPermitted,
  );
  expect(await blobs.has("space-1", blob.digest)).toBe(true);
});

test("nothing is removed while apps may run on other clusters", async () => {
  await put("unused");
  const read = reader({ Cluster: [{ metadata: { name: "west" } }] });
  await expect(removeUnusedBlobs({ blobs, read, now: Date.now() + 2 * DAY_MS })).rejects.toThrow("(west)");
  expect(await blobs.list()).toHaveLength(1);
});
