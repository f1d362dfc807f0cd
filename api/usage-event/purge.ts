// Begins a usage log anew: what is there now is its only content. As the caller, who is an admin.
import pLimit from "p-limit";
import { Org } from "../../crds/org/org.ts";
import { Process } from "../../crds/process/process.ts";
import { Space } from "../../crds/space/space.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import { toProcessUsage } from "../../crds/usage-log/process-usage.ts";
import { seedUsage, type PlacedEvent, type ProcessUsage } from "../../crds/usage-log/rules.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { isInForce, toServiceUsage, type InstanceCatalog } from "../../crds/service-usage-log/instance-usage.ts";
import { seedServiceUsage, type ServiceUsage } from "../../crds/service-usage-log/rules.ts";
import { ServiceUsageLog } from "../../crds/service-usage-log/service-usage-log.ts";
import { toSegments } from "../../crds/usage-log/segments.ts";
import { UsageLog } from "../../crds/usage-log/usage-log.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Session } from "../access/session.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import { appOf } from "../cf/app/owner-app.ts";
import { brokerOf, offeringOf, planOf } from "../cf/service/catalog.ts";
import { currentDroplet } from "../cf/app/current-droplet.ts";

/** Deletions at the same time. */
const CONCURRENCY = 8;

export async function purgeAndReseed(session: Session): Promise<void> {
  const { cache } = session;
  await replaceAll(session, UsageLog, (sequence) => seedUsage(listRunning(cache), sequence, session.now()));
}

export async function purgeAndReseedServices(session: Session): Promise<void> {
  const { cache } = session;
  await replaceAll(session, ServiceUsageLog, (sequence) =>
    seedServiceUsage(listInstances(cache), sequence, session.now()),
  );
}

/** The new events are there before the old ones go: whoever dies in between leaves a log that can be purged again. */
async function replaceAll<Event extends PlacedEvent>(
  session: Session,
  ref: ResourceRef<KubeObject & { spec: { events: Event[] } }>,
  toSeeds: (sequence: number) => Event[],
): Promise<void> {
  const old = session.cache.store(ref).list({ namespace: SYSTEM_NAMESPACE });
  const last = Math.max(0, ...old.flatMap(({ spec }) => spec.events.map(({ sequence }) => sequence)));
  for (const segment of toSegments(toSeeds(last + 1), { writer: "purge", purpose: "seed" }))
    await session.create(ref, segment);
  const limit = pLimit(CONCURRENCY);
  await Promise.all(old.map((segment) => limit(() => session.delete(ref, segment))));
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

function listInstances(cache: ClusterCache): ServiceUsage[] {
  return cache
    .store(ServiceInstance)
    .list()
    .filter((instance) => isInForce(instance))
    .flatMap((instance) => {
      const place = findPlace(cache, instance.metadata.namespace);
      return place ? [toServiceUsage(instance, catalogOf(cache, instance), place)] : [];
    });
}

function catalogOf(cache: ClusterCache, instance: ServiceInstance): InstanceCatalog {
  const plan = planOf(cache, instance);
  const offering = plan && offeringOf(cache, plan);
  return { plan, offering, broker: offering && brokerOf(cache, offering) };
}
