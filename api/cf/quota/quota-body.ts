// Quotas as CF's JSON, in both directions; quotas of orgs and of spaces are alike.
import { MAX_LIMIT } from "../../../crds/org-quota/limits.ts";
import { z } from "zod";
import type { OrgQuota } from "../../../crds/org-quota/org-quota.ts";
import type { SpaceQuota } from "../../../crds/space-quota/space-quota.ts";

const count = z.int().min(0).max(MAX_LIMIT).nullish();
// CF takes up to 2^63 - 1, which is no exact number here.
const bytes = z
  .number()
  .min(0)
  .max(2 ** 63)
  .refine((value) => Number.isInteger(value), "must be an integer")
  .transform((value) => Math.min(value, Number.MAX_SAFE_INTEGER))
  .nullish();

const apps = z.strictObject({
  total_memory_in_mb: count,
  per_process_memory_in_mb: count,
  total_instances: count,
  per_app_tasks: count,
  log_rate_limit_in_bytes_per_second: bytes,
});
const services = z.strictObject({
  paid_services_allowed: z.boolean().nullish(),
  total_service_instances: count,
  total_service_keys: count,
});
const routes = z.strictObject({ total_routes: count, total_reserved_ports: count });
const domains = z.strictObject({ total_domains: count });

export const quotaName = z.string().min(1).max(250);
export const quotaLimitsBody = {
  apps: apps.optional(),
  services: services.optional(),
  routes: routes.optional(),
  // A space quota has no domains; CF takes and ignores them on update.
  domains: domains.optional(),
};
interface LimitsBody {
  apps?: z.output<typeof apps> | undefined;
  services?: z.output<typeof services> | undefined;
  routes?: z.output<typeof routes> | undefined;
  domains?: z.output<typeof domains> | undefined;
}

type Spec = Omit<OrgQuota["spec"], "name" | "default">;
/** Limits as a quota's spec names them. */
type Limits = { [Name in keyof Spec]?: Spec[Name] };
/** As a merge patch: null removes a limit. */
type LimitsPatch = { [Name in keyof Limits]: Limits[Name] | null };

/** CF's name of each limit to the field of the spec. */
const FIELDS: Readonly<Record<string, keyof Spec>> = {
  total_memory_in_mb: "totalMemoryMB",
  per_process_memory_in_mb: "instanceMemoryMB",
  total_instances: "totalInstances",
  per_app_tasks: "totalAppTasks",
  log_rate_limit_in_bytes_per_second: "logRateLimitBytesPerSecond",
  paid_services_allowed: "paidServices",
  total_service_instances: "totalServiceInstances",
  total_service_keys: "totalServiceKeys",
  total_routes: "totalRoutes",
  total_reserved_ports: "totalReservedPorts",
  total_domains: "totalDomains",
};

/** The fields of the spec that the body names; null removes a limit, as in a merge patch. */
export function toLimits({ apps, services, routes, domains }: LimitsBody): LimitsPatch {
  const given = Object.entries({ ...apps, ...services, ...routes, ...domains });
  return Object.fromEntries(
    given.filter(([, value]) => value !== undefined).map(([name, value]) => [FIELDS[name] ?? name, value]),
  );
}

/** The limits of a new quota: null is no limit. */
export function toNewLimits(limits: LimitsBody): Limits {
  return Object.fromEntries(Object.entries(toLimits(limits)).filter(([, value]) => value !== null));
}

/** `apps`, `services` and `routes` of a quota. */
export function presentLimits({ spec }: { spec: OrgQuota["spec"] | SpaceQuota["spec"] }): object {
  const limit = (value: number | undefined): number | null => value ?? null;
  return {
    apps: {
      total_memory_in_mb: limit(spec.totalMemoryMB),
      per_process_memory_in_mb: limit(spec.instanceMemoryMB),
      total_instances: limit(spec.totalInstances),
      per_app_tasks: limit(spec.totalAppTasks),
      log_rate_limit_in_bytes_per_second: limit(spec.logRateLimitBytesPerSecond),
    },
    services: {
      paid_services_allowed: spec.paidServices,
      total_service_instances: limit(spec.totalServiceInstances),
      total_service_keys: limit(spec.totalServiceKeys),
    },
    routes: { total_routes: limit(spec.totalRoutes), total_reserved_ports: limit(spec.totalReservedPorts) },
  };
}
