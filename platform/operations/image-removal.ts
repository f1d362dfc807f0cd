// Removes images that builds pushed and nothing refers to any more.
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import { removalGraceMs } from "../../blobs/plan-blob-removal.ts";
import { planImageRemoval, type ImageReferences } from "../../blobs/plan-image-removal.ts";
import { listAppImages } from "../../blobs/registry/list-app-images.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { App } from "../../crds/app/app.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { guidOf } from "../../crds/guid.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { Staging } from "../../crds/staging/staging.ts";
import { TaskRun } from "../../crds/task-run/task-run.ts";
import { OTHER_CLUSTERS, requireNoOtherClusters } from "./other-clusters.ts";
import type { PeriodicTask } from "../leases/singletons.ts";
import type { PlatformRegistry } from "../open-blobs.ts";

const MAX_INTERVAL_MS = 60 * 60_000;
/** Kinds that refer to images, and App, whose images are kept for its next build. */
export const IMAGE_REFERRERS = [App, Droplet, LRP, TaskRun, Staging, OTHER_CLUSTERS];

export interface ImageRemovalOptions {
  registry: Pick<PlatformRegistry, "client" | "prefix">;
  read: Reader;
  log: Logger;
  /** Milliseconds for which an unused image stays; default: a day. */
  graceMs: number | undefined;
}

/** Runs each hour, or twice per grace if that is shorter; on the leader only. A new leader counts the grace from its own first look. */
export function createImageRemovalTask({
  registry,
  read,
  log,
  graceMs = removalGraceMs,
}: ImageRemovalOptions): PeriodicTask {
  const loop = async (signal: AbortSignal): Promise<void> => {
    let unusedSince: ReadonlyMap<string, number> = new Map();
    while (!signal.aborted) {
      try {
        const looked = await removeUnusedImages({ registry, read, now: Date.now(), graceMs, unusedSince });
        if (!looked) return log.info("the registry does not list its repositories: unused built images stay in it");
        unusedSince = looked.unusedSince;
        if (looked.removed > 0) log.info({ removed: looked.removed }, "removed built images that nothing refers to");
      } catch (err) {
        log.warn({ err }, "could not remove unused images; the next look tries again");
      }
      await delay(Math.min(MAX_INTERVAL_MS, graceMs / 2), undefined, { signal, ref: false }).catch(() => undefined);
    }
  };
  return { reads: IMAGE_REFERRERS, start: (signal) => void loop(signal) };
}

/** Looks once. Undefined where the registry cannot be looked at. @throws Error and removes nothing while there are other clusters; NotSynced, NotPermitted while a kind is not readable */
export async function removeUnusedImages({
  registry: { client, prefix },
  read,
  ...times
}: Pick<ImageRemovalOptions, "registry" | "read"> & {
  now: number;
  graceMs: number;
  unusedSince: ReadonlyMap<string, number>;
}): Promise<{ removed: number; unusedSince: Map<string, number> } | undefined> {
  requireNoOtherClusters(read);
  const images = await listAppImages(client, prefix);
  if (!images) return undefined;
  // Read after the list, so that an image with a newer reference stays.
  const { remove, unusedSince } = planImageRemoval({ images, references: listReferences(read), ...times });
  for (const { repository, digest } of remove) await client.deleteManifest({ host: prefix.host, repository }, digest);
  return { removed: remove.length, unusedSince };
}

function listReferences(read: Reader): ImageReferences {
  const [stagings, lrps, taskRuns] = [read.list(Staging), read.list(LRP), read.list(TaskRun)];
  const names = [
    ...read.list(Droplet).flatMap(({ spec, status }) => [spec.image, status?.image]),
    ...[...lrps, ...taskRuns].map(({ spec }) => spec.droplet.image),
    ...stagings.map(({ status }) => status?.droplet?.image),
  ];
  return {
    digests: new Set(names.flatMap((name) => /@(sha256:[0-9a-f]{64})$/.exec(name ?? "")?.[1] ?? [])),
    apps: new Set([...read.list(App).map(guidOf), ...[...lrps, ...stagings].map(({ spec }) => spec.app.guid)]),
    builds: new Set(stagings.map(({ spec }) => spec.buildGUID)),
  };
}
