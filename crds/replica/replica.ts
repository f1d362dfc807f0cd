// What a Replica is: one running process of the platform, as it sees itself. It goes with the process.
import { z } from "zod";
import { defineResource, listAtomic, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { GROUP } from "../groups.ts";

const missing = z.object({
  name: z.string().max(255).describe("The part of the process."),
  reason: z.string().max(4096).describe("What it waits for."),
});

const parkedWatch = z.object({
  resource: z.string().max(512).describe("The kind that it cannot watch: `plural.group`."),
  namespace: z.string().max(253).optional().describe("Only in this namespace."),
  reason: z
    .string()
    .max(128)
    .describe(
      "Forbidden: a right is missing. Unauthorized: its credential is refused. NoKind: the kind is not installed.",
    ),
});

export const Replica = defineResource({
  group: GROUP,
  kind: "Replica",
  plural: "replicas",
  namespaced: true,
  description:
    "A running process of the platform: what it does, what it leads, and what it cannot see. It writes this itself; its Lease owns it.",
  columns: [
    { name: "Operations", jsonPath: ".spec.operations" },
    { name: "Leads", jsonPath: ".status.leads" },
    { name: "Parked", jsonPath: ".status.parked[*].resource" },
  ],
  spec: z.object({
    operations: listAtomic(z.array(z.string().max(63)).max(32)).describe("What it was told to do."),
  }),
  status: readyStatus({
    leads: listAtomic(z.array(z.string().max(63)).max(32))
      .optional()
      .describe("Leases of work that one replica does for all, and this one does now."),
    parked: listAtomic(z.array(parkedWatch).max(500))
      .optional()
      .describe("Watches that wait until they are allowed. What they would show is out of sight, not gone."),
    degraded: listAtomic(z.array(missing).max(100))
      .optional()
      .describe("What is not there although the process serves."),
  }),
});
export type Replica = Resource<typeof Replica>;
