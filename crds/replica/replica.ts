// The Replica kind: one running process of the platform, as reported by itself. It is deleted with the process.
import { z } from "zod";
import { listAtomic, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { GROUP } from "../groups.ts";
import { defineKind } from "../kind.ts";

const missing = z.object({
  name: z.string().max(255).describe("The component of the process."),
  reason: z.string().max(4096).describe("Why it is unavailable."),
});

const policies = z.object({
  applied: listAtomic(z.array(z.string().max(128)).max(1000)).describe(
    "Constraints by which this process judges, of those whose rules read other objects: uid, generation, and generation of the template.",
  ),
  error: z.string().max(4096).optional().describe("Why it may lack others."),
});

const parkedWatch = z.object({
  resource: z.string().max(512).describe("The resource that it cannot watch, as `plural.group`."),
  namespace: z.string().max(253).optional().describe("The namespace of the watch; omitted for all namespaces."),
  reason: z
    .string()
    .max(128)
    .describe(
      "Forbidden: a permission is missing. Unauthorized: the credential is refused. NoKind: the kind is not installed.",
    ),
});

export const Replica = defineKind({
  group: GROUP,
  kind: "Replica",
  plural: "replicas",
  namespaced: true,
  isReadByAPI: false,
  description:
    "A running process of the platform: its operations, the leases it holds, and the resources it cannot watch. The process writes its own Replica, which its Lease owns.",
  columns: [
    { name: "Operations", jsonPath: ".spec.operations" },
    { name: "Leads", jsonPath: ".status.leads" },
    { name: "Parked", jsonPath: ".status.parked[*].resource" },
    { name: "Degraded", jsonPath: ".status.degraded[*].name" },
  ],
  spec: z.object({
    operations: listAtomic(z.array(z.string().max(63)).max(32)).describe("The operations that it was started with."),
  }),
  status: readyStatus({
    leads: listAtomic(z.array(z.string().max(63)).max(32))
      .optional()
      .describe("Leader election leases that this replica holds."),
    parked: listAtomic(z.array(parkedWatch).max(500))
      .optional()
      .describe("Watches that wait for permission. Their objects are unknown to this replica, not deleted."),
    policies: policies
      .optional()
      .describe("Operator policy that the API server does not hold; omitted by processes that do not judge."),
    degraded: listAtomic(z.array(missing).max(100))
      .optional()
      .describe("Components that are unavailable while the process serves."),
  }),
});
export type Replica = Resource<typeof Replica>;
