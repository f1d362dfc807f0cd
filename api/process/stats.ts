// `stats` of a process: the state of each instance from the LRP, its usage from the runner or from metrics.k8s.io.
import type { LRP } from "../../crds/lrp/lrp.ts";
import type { Process } from "../../crds/process/process.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { keyOf } from "../../kube/api/object.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import type { Services } from "../services.ts";
import { instancesOf, lrpOf } from "./present.ts";

const MB = 1024 * 1024;

/** Usage of one instance. `cpu` in cores, sizes in bytes, `time` in RFC 3339. */
interface Usage {
  time: string;
  cpu: number;
  mem: number;
  disk?: number;
}

/** The `resources` of `/stats`. Where nobody measures, `usage` is empty, as in CF; the rest comes from the LRP. */
export async function presentStats(
  cache: ClusterCache,
  services: Pick<Services, "telemetry" | "readPodUsage">,
  process: Process,
  now: Date,
): Promise<object[]> {
  const instances = instancesOf(cache, process);
  if (instances.length === 0) return [];
  const lrp = lrpOf(cache, process);
  const measured = lrp ? await measure(cache, services, lrp) : new Map<number, Usage>();
  return instances.map((instance) => {
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
        ...placement(lrp?.spec ?? process.spec, instance),
        usage: isUp(instance) ? presentUsage(measured.get(instance.index)) : {},
      }),
    };
  });
}

/** A class that publishes an endpoint measures by itself; the instances of any other run in pods. */
async function measure(
  cache: ClusterCache,
  { telemetry, readPodUsage }: Pick<Services, "telemetry" | "readPodUsage">,
  lrp: LRP,
): Promise<ReadonlyMap<number, Usage>> {
  const runner = cache.store(BackendClass).find({ name: lrp.spec.class });
  if (!runner?.status?.endpoint)
    return readPodUsage({ namespace: lrp.metadata.namespace ?? "", name: lrp.metadata.name });
  const found = await telemetry.stats({ app: lrp.spec.app.guid, process: lrp.spec.processGUID }).catch(() => []);
  return new Map(
    found.filter((stats) => stats.lrpKey === keyOf(lrp.metadata)).map((stats) => [stats.index, stats.usage]),
  );
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

/** Counts are integers: the Go client rejects anything else. */
function presentUsage(usage: Usage | undefined): object {
  if (!usage) return {};
  return {
    time: usage.time,
    cpu: usage.cpu,
    cpu_entitlement: null,
    mem: Math.round(usage.mem),
    ...(usage.disk !== undefined && { disk: Math.round(usage.disk) }),
    log_rate: 0,
  };
}
