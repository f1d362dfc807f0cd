// The container metrics of an app as Log Cache shows them: one envelope for each instance, of the newest measurement.
import { LABELS } from "../../crds/labels.ts";
import type { App } from "../../crds/app/app.ts";
import { LRP, type LrpInstance } from "../../crds/lrp/lrp.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import { Org } from "../../crds/org/org.ts";
import { mergedLRPsOf, type RunningLRP } from "../../crds/placement-decision/merged-lrps.ts";
import { PlacementDecision } from "../../crds/placement-decision/placement-decision.ts";
import { Space } from "../../crds/space/space.ts";
import { parseQuantity } from "../../kube/api/quantity.ts";
import { toGaugeEnvelope } from "../../telemetry/container-metrics.ts";
import type { GaugeEnvelope, LogQuery } from "../../telemetry/envelope.ts";
import { toSourceTags } from "../../telemetry/source-tags.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import { measureInstances, type InstanceUsage } from "../cf/process/instance-usage.ts";
import type { Services } from "../routing/services.ts";

const MB = 1024 * 1024;

/** A version of a process, and the tags that say whose it is. */
interface TaggedLRP {
  lrp: RunningLRP;
  tags: Record<string, string>;
}

/** In the query's range of times and its order. Instances that nobody measures have none. */
export async function readGauges(
  cache: ClusterCache,
  services: Pick<Services, "telemetry" | "readPodUsage">,
  app: { object: App; guid: string },
  { start, end, descending }: LogQuery,
): Promise<GaugeEnvelope[]> {
  const lrps = listLRPs(cache, app);
  const gauges = (await Promise.all(lrps.map((lrp) => gaugesOf(cache, services, { app: app.guid, lrp })))).flat();
  const sign = descending ? -1 : 1;
  return gauges
    .filter(({ timestamp }) => BigInt(timestamp) >= (start ?? 0n) && (end === undefined || BigInt(timestamp) < end))
    .sort((one, other) => sign * Number(BigInt(one.timestamp) - BigInt(other.timestamp)));
}

/** A process with a decision has the LRPs that the decision names, on whatever cluster; any other has its own. */
function listLRPs(cache: ClusterCache, { object, guid }: { object: App; guid: string }): TaggedLRP[] {
  const { namespace = "" } = object.metadata;
  const selector = { namespace, labels: { [LABELS.app]: guid } };
  const decisions = cache.store(PlacementDecision).list(selector);
  const placed = new Set(decisions.map(({ metadata }) => metadata.labels?.[LABELS.process]));
  const local = cache.store(LRP).list(selector);
  return [
    ...local
      .filter(({ spec }) => !placed.has(spec.processGUID))
      .map((lrp) => ({ lrp, tags: toTags(lrp.spec, toSourceTags(lrp.spec)) })),
    ...decisions.flatMap((decision) => {
      const { processType } = decision.spec;
      const source = sourceOf(cache, object, guid);
      return mergedLRPsOf(decision).map((lrp) => ({ lrp, tags: toTags({ ...lrp.spec, processType }, source) }));
    }),
  ];
}

function sourceOf(cache: ClusterCache, app: App, guid: string): Record<string, string> {
  const space = cache.spaceOf(app.metadata.namespace);
  const org = cache.orgOf(space?.metadata.namespace);
  return toSourceTags({
    app: { guid, name: displayNameOf(app) },
    space: space ? { guid: cache.guid(Space, space), name: displayNameOf(space) } : { guid: "", name: "" },
    org: org ? { guid: cache.guid(Org, org), name: displayNameOf(org) } : { guid: "", name: "" },
  });
}

function toTags(
  { processGUID, processType }: { processGUID: string; processType: string },
  source: Record<string, string>,
): Record<string, string> {
  return { ...source, process_id: processGUID, process_type: processType };
}

async function gaugesOf(
  cache: ClusterCache,
  services: Pick<Services, "telemetry" | "readPodUsage">,
  { app, lrp: { lrp, tags } }: { app: string; lrp: TaggedLRP },
): Promise<GaugeEnvelope[]> {
  const running = (lrp.status?.instances ?? []).filter(({ state }) => state === "Running" || state === "Starting");
  if (running.length === 0) return [];
  const usage = await measureInstances(cache, services, { lrp, appGUID: app });
  return running.flatMap((instance) => {
    const measured = usage.get(instance.index);
    return (measured && toGauge({ app, spec: lrp.spec, tags }, instance, measured)) ?? [];
  });
}

function toGauge(
  { app, spec, tags }: { app: string; spec: RunningLRP["spec"]; tags: Record<string, string> },
  { index, guid = "" }: LrpInstance,
  usage: InstanceUsage,
): GaugeEnvelope | undefined {
  return toGaugeEnvelope({
    source: app,
    index,
    tags: { ...tags, process_instance_id: guid },
    ...usage,
    cores: parseQuantity(spec.cpu ?? ""),
    memQuota: spec.memoryMB * MB,
    diskQuota: spec.diskMB * MB,
    logRateLimit: spec.logRateLimitBytesPerSecond,
  });
}
