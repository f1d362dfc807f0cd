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
import type { KubeClient } from "../../kube/client/client.ts";
import { removeUnusedBlobs } from "./blob-removal.ts";
import type { ReachableClusters } from "./other-clusters.ts";

/** There are none. */
const clusters = undefined;
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
  expect(await removeUnusedBlobs({ blobs, read, clusters, now: Date.now() + DAY_MS - 60_000 })).toBe(0);
  expect(await removeUnusedBlobs({ blobs, read, clusters, now: Date.now() + DAY_MS + 60_000 })).toBe(1);
  expect(await blobs.has("space-1", unused?.digest ?? "")).toBe(false);
  for (const kept of [used, staged, running, buildpack])
    expect(await blobs.has("space-1", kept?.digest ?? "")).toBe(true);
});

test("a shorter grace removes sooner", async () => {
  await put("unused");
  const look = (now: number) => removeUnusedBlobs({ blobs, read: reader({}), clusters, now, graceMs: 120_000 });
  expect(await look(Date.now() + 60_000)).toBe(0);
  expect(await look(Date.now() + 180_000)).toBe(1);
});

test.each(["Package", "Droplet", "LRP", "Staging"])("removes nothing while %s cannot be read", async (kind) => {
  const blob = await put("unused");
  await expect(
    removeUnusedBlobs({ blobs, read: reader({}, [kind]), clusters, now: Date.now() + 2 * DAY_MS }),
  ).rejects.toThrow(NotPermitted);
  expect(await blobs.has("space-1", blob.digest)).toBe(true);
});

const west = { metadata: { name: "west" } };
const later = (): number => Date.now() + 2 * DAY_MS;

/** Clusters by name, each with its objects by kind. */
const clustersWith = (all: Record<string, Record<string, unknown[]>>): ReachableClusters => ({
  find: (name) =>
    all[name] && {
      client: { list: async ({ kind }: ResourceRef) => ({ items: all[name]?.[kind] ?? [] }) } as unknown as KubeClient,
    },
});
const using = (content: Blob | undefined) => ({ metadata: {}, spec: { app: { guid: "shop" }, droplet: { content } } });

test("contents that an LRP or a task on another cluster uses stay, and all others go", async () => {
  const [running, task] = await Promise.all(["running", "task", "unused"].map(put));
  const elsewhere = clustersWith({ west: { LRP: [using(running)], TaskRun: [using(task)] } });
  const look = { blobs, read: reader({ Cluster: [west] }), clusters: elsewhere, now: later() };
  expect(await removeUnusedBlobs(look)).toBe(1);
  expect(new Set((await blobs.list()).map(({ digest }) => digest))).toEqual(new Set([running?.digest, task?.digest]));
});

test.each([
  ["a cluster that does not answer", { Cluster: [west] }],
  [
    "a cluster that is gone, and on which instances are placed",
    {
      PlacementDecision: [
        {
          spec: {
            assignments: [
              { cluster: "local", indexes: [{ start: 1, end: 1 }] },
              { cluster: "west", indexes: [{ start: 0, end: 0 }] },
            ],
          },
        },
      ],
    },
  ],
])("nothing is removed while there is %s", async (_name, objects) => {
  await put("unused");
  const look = { blobs, read: reader(objects), now: later() };
  await expect(removeUnusedBlobs({ ...look, clusters: clustersWith({ east: {} }) })).rejects.toThrow(
    "cluster west cannot be read",
  );
  expect(await blobs.list()).toHaveLength(1);
});

test("nothing is removed while a cluster refuses a list", async () => {
  await put("unused");
  const clusters: ReachableClusters = {
    find: () => ({ client: { list: async () => Promise.reject(new Error("taskruns is forbidden")) } as never }),
  };
  const look = { blobs, read: reader({ Cluster: [west] }), clusters, now: later() };
  await expect(removeUnusedBlobs(look)).rejects.toThrow("taskruns is forbidden");
  expect(await blobs.list()).toHaveLength(1);
});
