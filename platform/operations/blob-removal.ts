// Removes unreferenced content once its grace is over.
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import { planBlobRemoval, removalGraceMs } from "../../blobs/plan-blob-removal.ts";
import type { BlobStore } from "../../blobs/blob-store.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { Buildpack } from "../../crds/buildpack/buildpack.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { Package } from "../../crds/package/package.ts";
import { Staging } from "../../crds/staging/staging.ts";
import { TaskRun } from "../../crds/task-run/task-run.ts";
import { OTHER_CLUSTERS, requireNoOtherClusters } from "./other-clusters.ts";
import type { PeriodicTask } from "../leases/singletons.ts";

const MAX_INTERVAL_MS = 60 * 60_000;
/** Kinds that refer to content. */
export const BLOB_REFERRERS = [Package, Droplet, LRP, TaskRun, Staging, Buildpack, OTHER_CLUSTERS];

export interface BlobRemovalOptions {
  blobs: BlobStore;
  read: Reader;
  log: Logger;
  /** Milliseconds for which unreferenced content stays after its last upload; default: a day. */
  graceMs: number | undefined;
}

/** Runs each hour, or twice per grace if that is shorter; on the leader only. */
export function createBlobRemovalTask({
  blobs,
  read,
  log,
  graceMs = removalGraceMs,
}: BlobRemovalOptions): PeriodicTask {
  const intervalMs = Math.min(MAX_INTERVAL_MS, graceMs / 2);
  const loop = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      await removeUnusedBlobs({ blobs, read, now: Date.now(), graceMs }).then(
        (removed) => removed > 0 && log.info({ removed }, "removed contents that nothing refers to"),
        (err: unknown) => log.warn({ err }, "could not remove unused contents; the next look tries again"),
      );
      await delay(intervalMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  };
  return { reads: BLOB_REFERRERS, start: (signal) => void loop(signal) };
}

/** Removes unused content once. @throws Error and removes nothing while there are other clusters; NotSynced, NotPermitted while a kind that may refer to content is not readable */
export async function removeUnusedBlobs({
  blobs,
  read,
  now,
  graceMs = removalGraceMs,
}: Pick<BlobRemovalOptions, "blobs" | "read"> & { now: number; graceMs?: number }): Promise<number> {
  requireNoOtherClusters(read);
  const stored = await blobs.list();
  // Read after the list, so that a content with a newer reference stays. A content that any space refers to stays in all.
  const referenced = listReferencedDigests(read);
  const unused = planBlobRemoval({
    blobs: stored,
    references: stored.filter(({ digest }) => referenced.has(digest)),
    now,
    graceMs,
  });
  // Another replica may have put it again since the list.
  for (const { space, digest } of unused) await blobs.remove(space, digest, { lastPutBefore: now - graceMs });
  return unused.length;
}

function listReferencedDigests(read: Reader): Set<string | undefined> {
  return new Set([
    ...read.list(Package).map(({ spec }) => spec.content?.digest),
    ...read.list(Droplet).map(({ spec }) => spec.content?.digest),
    ...read.list(Buildpack).map(({ spec }) => spec.content?.digest),
    ...read.list(LRP).map(({ spec }) => spec.droplet.content?.digest),
    ...read.list(TaskRun).map(({ spec }) => spec.droplet.content?.digest),
    ...read
      .list(Staging)
      .flatMap(({ spec, status }) => [
        spec.package.content?.digest,
        status?.droplet?.content?.digest,
        ...spec.buildpacks.map(({ content }) => content?.digest),
      ]),
  ]);
}
