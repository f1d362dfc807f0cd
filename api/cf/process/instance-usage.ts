// Current usage of an LRP's instances: from the runner that publishes an endpoint, else from metrics.k8s.io.
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import type { RunningLRP } from "../../../crds/placement-decision/merged-lrps.ts";
import { keyOf } from "../../../kube/api/object.ts";
import type { ClusterCache } from "../../cache/cluster-cache.ts";
import type { ReadPodUsage } from "../../../telemetry/pods/pod-usage.ts";
import type { TelemetryClient } from "../../../telemetry/telemetry-client.ts";

/** Usage of one instance. `cpu` in cores, sizes in bytes, `logRate` in bytes per second, `time` in RFC 3339. */
export interface InstanceUsage {
  time: string;
  cpu: number;
  mem: number;
  disk?: number;
  logRate?: number;
}

/** CF's warning to a client when usage is missing because its source does not answer. */
const UNAVAILABLE = "Stats server temporarily unavailable.";

/**
 * By instance index; empty where nobody measures, and, with a warning, where whoever measures does not answer. A class that publishes an endpoint
 * measures by itself; the instances of any other run in pods, and those on other clusters are measured there.
 */
export async function measureInstances(
  cache: ClusterCache,
  { telemetry, readPodUsage }: { telemetry: TelemetryClient; readPodUsage: ReadPodUsage },
  { lrp, appGUID }: { lrp: RunningLRP; appGUID: string },
  warn: (text: string) => void = () => undefined,
): Promise<ReadonlyMap<number, InstanceUsage>> {
  const { namespace = "", name } = lrp.metadata;
  const names = lrp.names ?? [name];
  const isPublished = cache.store(BackendClass).find({ name: lrp.spec.class })?.status?.endpoint !== undefined;
  const isPlaced = lrp.names !== undefined;
  const [published, ofPods] = await Promise.all([
    isPublished || isPlaced ? readPublished(telemetry, { names, namespace }, { appGUID, lrp, warn }) : [],
    isPublished ? [] : Promise.all(names.map((one) => readPodUsage({ namespace, name: one }))),
  ]);
  return new Map<number, InstanceUsage>([...ofPods.flatMap((one) => [...one]), ...published]);
}

async function readPublished(
  telemetry: TelemetryClient,
  { names, namespace }: { names: readonly string[]; namespace: string },
  { appGUID, lrp, warn }: { appGUID: string; lrp: RunningLRP; warn: (text: string) => void },
): Promise<[number, InstanceUsage][]> {
  const found = await telemetry.stats({ app: appGUID, process: lrp.spec.processGUID }).catch(() => {
    warn(UNAVAILABLE);
    return [];
  });
  const keys = new Set(names.map((one) => keyOf({ namespace, name: one })));
  return found.filter(({ lrpKey }) => keys.has(lrpKey)).map((stats) => [stats.index, stats.usage]);
}
