// `stats` of a process: the state of each instance from the LRP, its usage from the runner or from metrics.k8s.io.
import { isStillStarting } from "../../crds/lrp/instance-problem.ts";
import type { Process } from "../../crds/process/process.ts";
import { parseQuantity } from "../../kube/api/quantity.ts";
import { App } from "../../crds/app/app.ts";
import { appOf } from "../cf/app/owner-app.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import { segmentNameOf } from "../cf/org/isolation-segments.ts";
import { toTime } from "../../kube/api/times.ts";
import { measureInstances, type InstanceUsage } from "../cf/process/instance-usage.ts";
import type { Services } from "../routing/services.ts";
import { instancesOf, lrpOf } from "./present.ts";

const MB = 1024 * 1024;

/** The `resources` of `/stats`. Where nobody measures, `usage` is empty, as in CF; the rest comes from the LRP. */
export async function presentStats(
  cache: ClusterCache,
  services: Pick<Services, "telemetry" | "readPodUsage">,
  process: Process,
  { now, warn }: { now: Date; warn: (text: string) => void },
): Promise<object[]> {
  const instances = instancesOf(cache, process);
  if (instances.length === 0) return [];
  const lrp = lrpOf(cache, process);
  const app = appOf(cache, process);
  const measured =
    lrp && app
      ? await measureInstances(cache, services, { lrp, appGUID: cache.guid(App, app) }, warn)
      : new Map<number, InstanceUsage>();
  const segment = segmentNameOf(cache, process.metadata.namespace) ?? null;
  const cores = parseQuantity(lrp?.spec.cpu ?? "");
  const isSettled = instances.every(({ cfState }) => cfState !== "STARTING");
  return instances.map((instance) => {
    const since = instance.since ? Date.parse(instance.since) : now.getTime();
    return {
      type: process.spec.type,
      index: instance.index,
      state: instance.cfState,
      routable: instance.ready ?? false,
      uptime: Math.max(0, Math.floor((now.getTime() - since) / 1000)),
      isolation_segment: segment,
      details: presentDetails(instance.details) ?? presentCluster(instance, isSettled),
      // As in CF, a DOWN instance has no further fields.
      ...(instance.cfState !== "DOWN" && {
        ...placement(lrp?.spec ?? process.spec, instance),
        usage: isUp(instance) ? presentUsage(measured.get(instance.index), cores) : {},
      }),
    };
  });
}

/** `cf push` prints any details as "Error starting instances", so a start that is only slow has none. */
function presentDetails(details: string | undefined): string | null {
  return details === undefined || isStillStarting(details) ? null : details;
}

/** Once a process has several clusters. Not during a start, when `cf push` prints it as an error. */
function presentCluster({ cluster }: { cluster?: string }, isSettled: boolean): string | null {
  return cluster !== undefined && isSettled ? `on ${cluster}` : null;
}

function isUp({ cfState }: { cfState: string }): boolean {
  return cfState === "RUNNING" || cfState === "STARTING";
}

/** An instance's address and limits. */
function placement(
  spec: Pick<Process["spec"], "memoryMB" | "diskMB" | "logRateLimitBytesPerSecond">,
  instance: { guid?: string; host?: string; ports?: { port: number; hostPort: number }[] },
): object {
  const ports = (instance.ports ?? []).map(({ port, hostPort }) => ({
    external: hostPort,
    internal: port,
    external_tls_proxy_port: null,
    internal_tls_proxy_port: null,
  }));
  return {
    instance_guid: instance.guid ?? "",
    host: instance.host ?? "",
    instance_internal_ip: instance.host ?? "",
    instance_ports: ports,
    mem_quota: spec.memoryMB * MB,
    disk_quota: spec.diskMB * MB,
    log_rate_limit: spec.logRateLimitBytesPerSecond,
    fds_quota: 16384,
  };
}

/** Counts are integers: the Go client rejects anything else. `cores`: what the instance is entitled to, where something says so. */
function presentUsage(usage: InstanceUsage | undefined, cores: number | undefined): object {
  if (!usage) return {};
  return {
    time: toTime(usage.time),
    cpu: usage.cpu,
    cpu_entitlement: cores ? usage.cpu / cores : null,
    mem: Math.round(usage.mem),
    ...(usage.disk !== undefined && { disk: Math.round(usage.disk) }),
    log_rate: Math.round(usage.logRate ?? 0),
  };
}
