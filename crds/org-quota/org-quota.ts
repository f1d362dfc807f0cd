// The OrgQuota kind: limits that an admin sets for orgs. A missing limit means unlimited.
import { z } from "zod";
import { defineResource, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { cfName } from "../cf-name.ts";
import { CATEGORY, GROUP } from "../groups.ts";

const limit = z.int().min(0).max(2_147_483_647).optional();

export const OrgQuota = defineResource({
  group: GROUP,
  kind: "OrgQuota",
  plural: "orgquotas",
  namespaced: true,
  shortNames: ["cforgquota"],
  categories: [CATEGORY],
  description: "Limits for orgs. A missing limit means unlimited.",
  columns: [
    { name: "CF-Name", jsonPath: ".spec.name" },
    { name: "Memory", jsonPath: ".spec.totalMemoryMB", type: "integer", description: "MB in total" },
    { name: "Routes", jsonPath: ".spec.totalRoutes", type: "integer" },
  ],
  spec: z.object({
    name: cfName.describe("The name that cf shows."),
    default: z.boolean().default(false).describe("Whether orgs without a quotaRef use this quota."),
    totalMemoryMB: limit.describe("Memory of all running instances, in MB."),
    instanceMemoryMB: limit.describe("Memory of one instance, in MB."),
    totalInstances: limit.describe("Number of running instances."),
    totalAppTasks: limit.describe("Number of running tasks."),
    logRateLimitBytesPerSecond: limit.describe("Log bytes per second, of all running instances."),
    paidServices: z.boolean().default(true).describe("Whether paid service plans may be used."),
    totalServiceInstances: limit.describe("Number of service instances."),
    totalServiceKeys: limit.describe("Number of service keys."),
    totalRoutes: limit.describe("Number of routes."),
    totalReservedPorts: limit.describe("Number of routes with a port."),
    totalDomains: limit.describe("Number of private domains."),
  }),
  status: readyStatus({}),
});
export type OrgQuota = Resource<typeof OrgQuota>;
