// `stats` of a process: the state of each instance from the LRP, its usage from the runner.
import type { Process } from "../../crds/process/process.ts";
import type { InstanceStats } from "../../telemetry/envelope.ts";
import type { TelemetryClient } from "../../telemetry/telemetry-client.ts";
import { keyOf } from "../../kube/api/object.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import { instancesOf, lrpOf } from "./present.ts";

const MB = 1024 * 1024;

/** The `resources` of `/stats`. If the runner does not answer, usage is zero; states still come from the LRP. */
export async function presentStats(
  cache: ClusterCache,
  telemetry: TelemetryClient,
  process: Process,
  now: Date,
): Promise<object[]> {
  const instances = instancesOf(cache, process);
  if (instances.length === 0) return [];
  const measured = await measure(cache, telemetry, process);
  return instances.map((instance) => {
    const stats = measured.get(instance.index);
    const since = instance.since ? Date.parse(instance.since) : now.getTime();
    return {
      type: process.spec.type,
      index: instance.index,
      state: instance.cfState,
      routable: instance.ready ?? false,
      uptime: Math.max(0, Math.floor((now.getTime() - since) / 1000)),
      isolation_segment: null,
      details: instance.details ?? null,
      // As in CF, a DOWN instance has no further fields.
      ...(instance.cfState !== "DOWN" && {
        ...placement(process, instance),
        usage: isUp(instance) ? usage(stats, now) : {},
      }),
    };
  });
}

async function measure(
  cache: ClusterCache,
  telemetry: TelemetryClient,
  process: Process,
): Promise<Map<number, InstanceStats>> {
  const lrp = lrpOf(cache, process);
  if (!lrp) return new Map();
  const found = await telemetry.stats({ app: lrp.spec.app.guid, process: lrp.spec.processGUID }).catch(() => []);
  return new Map(found.filter((stats) => stats.lrpKey === keyOf(lrp.metadata)).map((stats) => [stats.index, stats]));
}

function isUp({ cfState }: { cfState: string }): boolean {
  return cfState === "RUNNING" || cfState === "STARTING";
}

/** An instance's address and limits. */
function placement(
  { spec }: Process,
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

/** Counts are integers: the Go client rejects anything else. */
function usage(stats: InstanceStats | undefined, now: Date): object {
  return {
    time: now.toISOString(),
    cpu: stats?.usage.cpu ?? 0,
    cpu_entitlement: null,
    mem: Math.round(stats?.usage.mem ?? 0),
    disk: Math.round(stats?.usage.disk ?? 0),
    log_rate: 0,
  };
}
