// Limits that quotas of orgs and of spaces share. A missing limit means unlimited.
import { z } from "zod";

/** The largest limit: CF's, a 32-bit integer. */
export const MAX_LIMIT = 2_147_483_647;

export const limit = z.int().min(0).max(MAX_LIMIT).optional();
const bytes = z.int().min(0).max(Number.MAX_SAFE_INTEGER).optional();

export const quotaLimits = {
  totalMemoryMB: limit.describe("Memory of all running instances and tasks, in MB."),
  instanceMemoryMB: limit.describe("Memory of one instance or task, in MB."),
  totalInstances: limit.describe("Number of running instances."),
  totalAppTasks: limit.describe("Number of running tasks."),
  logRateLimitBytesPerSecond: bytes.describe("Log bytes per second, of all running instances."),
  paidServices: z.boolean().default(true).describe("Whether paid service plans may be used."),
  totalServiceInstances: limit.describe("Number of service instances."),
  totalServiceKeys: limit.describe("Number of service keys."),
  totalRoutes: limit.describe("Number of routes."),
  totalReservedPorts: limit.describe("Number of routes with a port."),
};

export const QUOTA_COLUMNS = [
  { name: "CF-Name", jsonPath: ".spec.name" },
  { name: "Memory", jsonPath: ".spec.totalMemoryMB", type: "integer", description: "MB in total" },
  { name: "Instances", jsonPath: ".spec.totalInstances", type: "integer" },
  { name: "Routes", jsonPath: ".spec.totalRoutes", type: "integer" },
] as const;
