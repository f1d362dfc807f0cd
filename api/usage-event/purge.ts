// Begins the usage log anew: what runs now is its only content. As the caller, who is an admin.
import pLimit from "p-limit";
import { Org } from "../../crds/org/org.ts";
import { Process } from "../../crds/process/process.ts";
import { Space } from "../../crds/space/space.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import { toProcessUsage } from "../../crds/usage-log/process-usage.ts";
import { seedUsage, type ProcessUsage } from "../../crds/usage-log/rules.ts";
import { toSegments } from "../../crds/usage-log/segments.ts";
import { UsageLog } from "../../crds/usage-log/usage-log.ts";
import type { Session } from "../access/session.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import { appOf } from "../cf/app/owner-app.ts";
import { currentDroplet } from "../cf/app/current-droplet.ts";

/** Deletions at the same time. */
const CONCURRENCY = 8;

/** The new events are there before the old ones go: whoever dies in between leaves a log that can be purged again. */
export async function purgeAndReseed(session: Session): Promise<void> {
  const { cache } = session;
  const old = cache.store(UsageLog).list({ namespace: SYSTEM_NAMESPACE });
  const last = Math.max(0, ...old.flatMap(({ spec }) => spec.events.map(({ sequence }) => sequence)));
  const seeds = seedUsage(listRunning(cache), last + 1, session.now());
  for (const segment of toSegments(seeds, { writer: "purge", purpose: "seed" }))
    await session.create(UsageLog, segment);
  const limit = pLimit(CONCURRENCY);
  await Promise.all(old.map((segment) => limit(() => session.delete(UsageLog, segment))));
}

function listRunning(cache: ClusterCache): ProcessUsage[] {
  return cache
    .store(Process)
    .list()
    .flatMap((process) => toUsage(cache, process) ?? []);
}

function toUsage(cache: ClusterCache, process: Process): ProcessUsage | undefined {
  const app = appOf(cache, process);
  const place = findPlace(cache, process.metadata.namespace);
  if (app?.spec.state !== "Started" || !place) return undefined;
  return toProcessUsage({ process, app, droplet: currentDroplet(cache, app) }, place);
}

function findPlace(cache: ClusterCache, namespace?: string): Pick<ProcessUsage, "space" | "orgGUID"> | undefined {
  const space = cache.spaceOf(namespace);
  const org = cache.orgOf(space?.metadata.namespace);
  return (
    space &&
    org && { space: { guid: cache.guid(Space, space), name: displayNameOf(space) }, orgGUID: cache.guid(Org, org) }
  );
}
