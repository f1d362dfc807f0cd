// The SecurityGroup kind: addresses that apps, or builds, may reach. For all spaces, or for those that name it.
import { z } from "zod";
import { listAtomic, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { cfName } from "../cf-name.ts";
import { CATEGORY, GROUP } from "../groups.ts";
import { defineKind, READ } from "../kind.ts";
import { GLOBAL_AUDITOR_CLUSTER_ROLE } from "../roles.ts";

const icmp = z.int().min(-1).max(255).optional();
const rule = z.object({
  protocol: z.enum(["tcp", "udp", "icmp", "icmpv6", "all"]).describe("The protocol of the connections."),
  destination: z
    .string()
    .min(1)
    .max(4096)
    .describe("An address, a range in CIDR notation, a range as first-last, or several of these separated by commas."),
  ports: z
    .string()
    .max(1024)
    .optional()
    .describe("For tcp and udp: a port, ports separated by commas, or a range as 80-90."),
  type: icmp.describe("For icmp: the type; -1 means all."),
  code: icmp.describe("For icmp: the code; -1 means all."),
  log: z.boolean().optional().describe("Kept and shown only: a NetworkPolicy logs nothing."),
  description: z.string().max(1024).optional().describe("What the rule is for."),
});
export type SecurityRule = z.output<typeof rule>;

export const SecurityGroup = defineKind({
  group: GROUP,
  kind: "SecurityGroup",
  plural: "securitygroups",
  namespaced: true,
  permissions: [
    // Members of orgs and spaces get single ones by name: controllers/space, controllers/security-group.
    { verbs: READ, roles: [GLOBAL_AUDITOR_CLUSTER_ROLE] },
  ],
  deletionJob: "security_group.delete",
  shortNames: ["cfsecgroup"],
  categories: [CATEGORY],
  description:
    "Addresses that apps or builds may reach, in the system namespace. A Space names its groups in spec.securityGroups. On a cluster they become rules of the space's NetworkPolicies, beside what the ConfigMap cupola-network opens.",
  columns: [
    { name: "CF-Name", jsonPath: ".spec.name" },
    { name: "Running", jsonPath: ".spec.globallyEnabled.running", type: "boolean" },
    { name: "Staging", jsonPath: ".spec.globallyEnabled.staging", type: "boolean" },
  ],
  spec: z.object({
    name: cfName.describe("The name that cf shows."),
    rules: listAtomic(z.array(rule).max(1000)).default([]).describe("What may be reached."),
    globallyEnabled: z
      .object({
        running: z.boolean().default(false).describe("For running apps."),
        staging: z.boolean().default(false).describe("For builds."),
      })
      .default({ running: false, staging: false })
      .describe("Whether the group applies to all spaces."),
  }),
  status: readyStatus({}),
});
export type SecurityGroup = Resource<typeof SecurityGroup>;
