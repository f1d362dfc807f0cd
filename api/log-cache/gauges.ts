// The container metrics of an app as Log Cache shows them: one envelope for each instance, of the newest measurement.
import { LABELS } from "../../crds/labels.ts";
import { LRP, type LrpInstance } from "../../crds/lrp/lrp.ts";
import { parseQuantity } from "../../kube/api/quantity.ts";
import { toGaugeEnvelope } from "../../telemetry/container-metrics.ts";
import type { GaugeEnvelope, LogQuery } from "../../telemetry/envelope.ts";
import { toSourceTags } from "../../telemetry/source-tags.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import { measureInstances, type InstanceUsage } from "../cf/process/instance-usage.ts";
import type { Services } from "../routing/services.ts";

const MB = 1024 * 1024;

/** In the query's range of times and its order. Instances that nobody measures have none. */
export async function readGauges(
  cache: ClusterCache,
  services: Pick<Services, "telemetry" | "readPodUsage">,
  app: { namespace: string; guid: string },
  { start, end, descending }: LogQuery,
): Promise<GaugeEnvelope[]> {
  const lrps = cache.store(LRP).list({ namespace: app.namespace, labels: { [LABELS.app]: app.guid } });
  const gauges = (await Promise.all(lrps.map((lrp) => gaugesOf(cache, services, lrp)))).flat();
  const sign = descending ? -1 : 1;
  return gauges
    .filter(({ timestamp }) => BigInt(timestamp) >= (start ?? 0n) && (end === undefined || BigInt(timestamp) < end))
    .sort((one, other) => sign * Number(BigInt(one.timestamp) - BigInt(other.timestamp)));
}

async function gaugesOf(
  cache: ClusterCache,
  services: Pick<Services, "telemetry" | "readPodUsage">,
  lrp: LRP,
): Promise<GaugeEnvelope[]> {
  const running = (lrp.status?.instances ?? []).filter(({ state }) => state === "Running" || state === "Starting");
  if (running.length === 0) return [];
  const usage = await measureInstances(cache, services, { lrp, appGUID: lrp.spec.app.guid });
  return running.flatMap((instance) => {
    const measured = usage.get(instance.index);
    return (measured && toGauge(lrp, instance, measured)) ?? [];
  });
}

function toGauge({ spec }: LRP, { index, guid = "" }: LrpInstance, usage: InstanceUsage): GaugeEnvelope | undefined {
  return toGaugeEnvelope({
    source: spec.app.guid,
    index,
    tags: {
      ...toSourceTags(spec),
      process_id: spec.processGUID,
      process_type: spec.processType,
      process_instance_id: guid,
    },
    ...usage,
    cores: parseQuantity(spec.cpu ?? ""),
    memQuota: spec.memoryMB * MB,
    diskQuota: spec.diskMB * MB,
    logRateLimit: spec.logRateLimitBytesPerSecond,
  });
}
