// An org's or a space's use of its quota, as a table. Pure.
import { bytes, table } from "../output.ts";

/** A quota of `/v3/organization_quotas` or `/v3/space_quotas`. */
export interface Quota {
  name: string;
  apps: {
    total_memory_in_mb: number | null;
    per_process_memory_in_mb: number | null;
    total_instances: number | null;
    per_app_tasks: number | null;
    log_rate_limit_in_bytes_per_second: number | null;
  };
  services: { total_service_instances: number | null; total_service_keys: number | null };
  routes: { total_routes: number | null; total_reserved_ports: number | null };
  domains?: { total_domains: number | null };
}

/** The `usage_summary` of an org or a space. */
export interface Usage {
  started_instances: number;
  memory_in_mb: number;
  routes: number;
  service_instances: number;
  reserved_ports: number;
  domains: number;
  per_app_tasks: number;
  service_keys: number;
}

const MB = 1024 * 1024;
const inMB = (value: number): string => bytes(value * MB);

interface Row {
  name: string;
  /** Undefined for a limit that nothing adds up to. */
  used?: number;
  limit: number | null | undefined;
  format: (value: number) => string;
}

function appRows(usage: Usage, apps: Quota["apps"] | undefined): Row[] {
  return [
    { name: "memory", used: usage.memory_in_mb, limit: apps?.total_memory_in_mb, format: inMB },
    { name: "memory of an instance", limit: apps?.per_process_memory_in_mb, format: inMB },
    { name: "instances", used: usage.started_instances, limit: apps?.total_instances, format: String },
    { name: "tasks", used: usage.per_app_tasks, limit: apps?.per_app_tasks, format: String },
    { name: "log rate", limit: apps?.log_rate_limit_in_bytes_per_second, format: (rate) => `${bytes(rate)}/s` },
  ];
}

function otherRows(usage: Usage, quota: Quota | undefined): Row[] {
  const { services, routes, domains } = quota ?? {};
  return [
    { name: "routes", used: usage.routes, limit: routes?.total_routes, format: String },
    { name: "reserved ports", used: usage.reserved_ports, limit: routes?.total_reserved_ports, format: String },
    { name: "private domains", used: usage.domains, limit: domains?.total_domains, format: String },
    {
      name: "service instances",
      used: usage.service_instances,
      limit: services?.total_service_instances,
      format: String,
    },
    { name: "service keys", used: usage.service_keys, limit: services?.total_service_keys, format: String },
  ];
}

/** A row for each limit that is in use or set; a limit of nothing is a limit. */
export function usageTable(usage: Usage, quota: Quota | undefined): string[] {
  const rows = [...appRows(usage, quota?.apps), ...otherRows(usage, quota)];
  return table(
    ["", "used", "limit"],
    rows
      .filter(({ used, limit }) => (used ?? 0) > 0 || typeof limit === "number")
      .map(({ name, used, limit, format }) => [
        name,
        used === undefined ? "-" : format(used),
        typeof limit === "number" ? format(limit) : "none",
      ]),
  );
}
