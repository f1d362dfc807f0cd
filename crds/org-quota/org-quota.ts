// What an OrgQuota is: limits that an admin gives to orgs. A limit left out is none.
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
  description: "Limits for orgs. A limit left out means: no limit.",
  columns: [
    { name: "CF-Name", jsonPath: ".spec.name" },
    { name: "Memory", jsonPath: ".spec.totalMemoryMB", type: "integer", description: "MB in total" },
    { name: "Routes", jsonPath: ".spec.totalRoutes", type: "integer" },
  ],
  spec: z.object({
    name: cfName.describe("The name that cf shows."),
    default: z.boolean().default(false).describe("In force for orgs that name none."),
    totalMemoryMB: limit.describe("Memory of all running instances, in MB."),
    instanceMemoryMB: limit.describe("Memory of one instance, in MB."),
    totalInstances: limit.describe("Running instances."),
    totalAppTasks: limit.describe("Running tasks."),
    logRateLimitBytesPerSecond: limit.describe("Log bytes a second, of all running instances."),
    paidServices: z.boolean().default(true).describe("Whether plans that cost may be used."),
    totalServiceInstances: limit.describe("Service instances."),
    totalServiceKeys: limit.describe("Service keys."),
    totalRoutes: limit.describe("Routes."),
    totalReservedPorts: limit.describe("Routes with a port."),
    totalDomains: limit.describe("Private domains."),
  }),
  status: readyStatus({}),
});
export type OrgQuota = Resource<typeof OrgQuota>;
