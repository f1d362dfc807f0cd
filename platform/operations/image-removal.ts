// Removes images that builds pushed and nothing refers to any more.
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
import { listElsewhere, OTHER_CLUSTERS, type ReachableClusters, type Workloads } from "./other-clusters.ts";
import { runRemovalLoop } from "./removal-loop.ts";
import type { PeriodicTask } from "../leases/singletons.ts";
import type { PlatformRegistry } from "../open-blobs.ts";

/** Kinds that refer to images, and App, whose images are kept for its next build. */
export const IMAGE_REFERRERS = [App, Droplet, LRP, TaskRun, Staging, ...OTHER_CLUSTERS];

export interface ImageRemovalOptions {
  registry: Pick<PlatformRegistry, "client" | "prefix">;
  read: Reader;
  clusters: ReachableClusters | undefined;
  log: Logger;
  /** Milliseconds for which an unused image stays; default: a day. */
  graceMs: number | undefined;
}

/** On the leader only. A new leader counts the grace from its own first look. */
export function createImageRemovalTask({
  registry,
  read,
  clusters,
  log,
  graceMs = removalGraceMs,
}: ImageRemovalOptions): PeriodicTask {
  const start = (signal: AbortSignal): void => {
    let unusedSince: ReadonlyMap<string, number> = new Map();
    const look = async (): Promise<number | undefined> => {
      const looked = await removeUnusedImages({ registry, read, clusters, now: Date.now(), graceMs, unusedSince });
      if (!looked) log.info("the registry does not list its repositories: unused built images stay in it");
      unusedSince = looked?.unusedSince ?? unusedSince;
      return looked?.removed;
    };
    void runRemovalLoop({ content: "built images", look, graceMs, log }, signal);
  };
  return { reads: IMAGE_REFERRERS, start };
}

/** Looks once. Undefined where the registry cannot be looked at. @throws Error and removes nothing while another cluster cannot be read; NotSynced, NotPermitted while a kind is not readable */
export async function removeUnusedImages({
  registry: { client, prefix },
  read,
  clusters,
  ...times
}: Pick<ImageRemovalOptions, "registry" | "read" | "clusters"> & {
  now: number;
  graceMs: number;
  unusedSince: ReadonlyMap<string, number>;
}): Promise<{ removed: number; unusedSince: Map<string, number> } | undefined> {
  const images = await listAppImages(client, prefix);
  if (!images) return undefined;
  // Read after the list, so that an image with a newer reference stays.
  const references = listReferences(read, await listElsewhere(read, clusters));
  const { remove, unusedSince } = planImageRemoval({ images, references, ...times });
  for (const { repository, digest } of remove) await client.deleteManifest({ host: prefix.host, repository }, digest);
  return { removed: remove.length, unusedSince };
}

function listReferences(read: Reader, elsewhere: Workloads): ImageReferences {
  const stagings = read.list(Staging);
  const lrps = [...read.list(LRP), ...elsewhere.lrps];
  const taskRuns = [...read.list(TaskRun), ...elsewhere.taskRuns];
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
