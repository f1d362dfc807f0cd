// The ServiceUsageLog kind: a segment of the usage events of service instances, for billing. The leader appends to it; a full one is followed by another.
import { z } from "zod";
import { listAtomic, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { GROUP } from "../groups.ts";
import { defineKind, READ } from "../kind.ts";
import { GLOBAL_AUDITOR_CLUSTER_ROLE } from "../roles.ts";
import { KEPT_EVENTS, MAX_SEGMENT_EVENTS } from "../usage-log/usage-log.ts";

const guid = z.string().max(63);
const named = z.object({ guid, name: z.string().max(255).describe("Name at the time of the event.") });

const serviceUsageEvent = z.object({
  guid: guid.describe("GUID of the event."),
  sequence: z.int().min(1).describe("Orders the events of all segments."),
  at: z.string().max(64).meta({ format: "date-time" }).describe("When it was recorded."),
  state: z.enum(["CREATED", "UPDATED", "DELETED"]).describe("UPDATED: another name or another plan."),
  instance: named,
  type: z.enum(["managed", "user-provided"]),
  space: named,
  orgGUID: guid,
  plan: named.optional().describe("Of a managed instance, as are offering and broker."),
  offering: named.optional(),
  broker: named.optional(),
});
export type ServiceUsageEvent = z.output<typeof serviceUsageEvent>;

export const ServiceUsageLog = defineKind({
  group: GROUP,
  kind: "ServiceUsageLog",
  plural: "serviceusagelogs",
  namespaced: true,
  permissions: [{ verbs: READ, roles: [GLOBAL_AUDITOR_CLUSTER_ROLE] }],
  shortNames: ["cfserviceusage"],
  description: `Usage events of service instances, for billing. The platform writes them into its own namespace: the newest ${KEPT_EVENTS} or so are kept, and the last one of every instance that exists. Deleting them all begins anew with the instances that exist.`,
  columns: [
    { name: "Writer", jsonPath: ".spec.writer" },
    { name: "First", jsonPath: ".spec.events[0].at" },
    { name: "States", jsonPath: ".spec.events[*].state" },
  ],
  spec: z.object({
    writer: z.string().max(255).describe("The process that appends to it."),
    events: listAtomic(z.array(serviceUsageEvent).max(MAX_SEGMENT_EVENTS)).describe("The events, oldest first."),
  }),
  status: readyStatus({}),
});
export type ServiceUsageLog = Resource<typeof ServiceUsageLog>;
