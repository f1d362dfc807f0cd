// Container metrics as gauge envelopes of Log Cache, with Cloud Foundry's names, units and tags. Pure.
import type { GaugeEnvelope } from "./envelope.ts";

/** An instance and what it uses. `cpu` in cores, sizes in bytes, rates in bytes per second, `time` in RFC 3339. */
export interface InstanceMetrics {
  source: string;
  index: number;
  tags: Record<string, string>;
  time: string;
  cpu: number;
  /** Cores that it is entitled to, where something says so. */
  cores?: number | undefined;
  mem: number;
  memQuota: number;
  disk?: number | undefined;
  diskQuota: number;
  logRate?: number | undefined;
  logRateLimit: number;
}

/** Undefined when the time cannot be read. */
export function toGaugeEnvelope(metrics: InstanceMetrics): GaugeEnvelope | undefined {
  const milliseconds = Date.parse(metrics.time);
  if (Number.isNaN(milliseconds)) return undefined;
  const { source, index, tags, cpu, cores, mem, memQuota, disk, diskQuota, logRate, logRateLimit } = metrics;
  const values: [name: string, unit: string, value: number | undefined][] = [
    ["cpu", "percentage", cpu * 100],
    ["cpu_entitlement", "percentage", cores && (cpu / cores) * 100],
    ["memory", "bytes", mem],
    ["memory_quota", "bytes", memQuota],
    ["disk", "bytes", disk],
    ["disk_quota", "bytes", diskQuota],
    ["log_rate", "B/s", logRate],
    ["log_rate_limit", "B/s", logRateLimit],
  ];
  return {
    timestamp: `${milliseconds}000000`,
    source_id: source,
    instance_id: String(index),
    tags: { ...tags, instance_id: String(index), source_id: source },
    gauge: {
      metrics: Object.fromEntries(
        values.flatMap(([name, unit, value]) => (value === undefined ? [] : [[name, { unit, value }]])),
      ),
    },
  };
}
