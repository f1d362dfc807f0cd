// Removes unreferenced content once its grace is over.
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
import { listElsewhere, OTHER_CLUSTERS, type ReachableClusters, type Workload } from "./other-clusters.ts";
import { runRemovalLoop } from "./removal-loop.ts";
import type { PeriodicTask } from "../leases/singletons.ts";

/** Kinds that refer to content. */
export const BLOB_REFERRERS = [Package, Droplet, LRP, TaskRun, Staging, Buildpack, ...OTHER_CLUSTERS];

export interface BlobRemovalOptions {
  blobs: BlobStore;
  read: Reader;
  clusters: ReachableClusters | undefined;
  log: Logger;
  /** Milliseconds for which unreferenced content stays after its last upload; default: a day. */
  graceMs: number | undefined;
}

/** On the leader only. */
export function createBlobRemovalTask({
  blobs,
  read,
  clusters,
  log,
  graceMs = removalGraceMs,
}: BlobRemovalOptions): PeriodicTask {
  const look = (): Promise<number> => removeUnusedBlobs({ blobs, read, clusters, now: Date.now(), graceMs });
  return {
    reads: BLOB_REFERRERS,
    start: (signal) => void runRemovalLoop({ content: "contents", look, graceMs, log }, signal),
  };
}

/** Removes unused content once. @throws Error and removes nothing while another cluster cannot be read; NotSynced, NotPermitted while a kind that may refer to content is not readable */
export async function removeUnusedBlobs({
  blobs,
  read,
  clusters,
  now,
  graceMs = removalGraceMs,
}: Pick<BlobRemovalOptions, "blobs" | "read" | "clusters"> & { now: number; graceMs?: number }): Promise<number> {
  const stored = await blobs.list();
  // Read after the list, so that a content with a newer reference stays. A content that any space refers to stays in all.
  const before = listReferencedDigests(read);
  const { lrps, taskRuns } = await listElsewhere(read, clusters);
  // A Droplet may have gone, or come, while the other clusters were asked.
  const referenced = new Set([...before, ...[...lrps, ...taskRuns].map(digestOf), ...listReferencedDigests(read)]);
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
    ...read.list(LRP).map(digestOf),
    ...read.list(TaskRun).map(digestOf),
    ...read
      .list(Staging)
      .flatMap(({ spec, status }) => [
        spec.package.content?.digest,
        status?.droplet?.content?.digest,
        ...spec.buildpacks.map(({ content }) => content?.digest),
      ]),
  ]);
}

function digestOf({ spec }: Workload): string | undefined {
  return spec.droplet.content?.digest;
}
