// The UsageLog kind: a segment of the platform's usage events, for billing. The leader appends to it; a full one is followed by another.
import { z } from "zod";
import { listAtomic, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { GROUP } from "../groups.ts";
import { defineKind, READ } from "../kind.ts";
import { GLOBAL_AUDITOR_CLUSTER_ROLE } from "../roles.ts";

/** Events in one segment; the next one goes to a new object. */
export const MAX_SEGMENT_EVENTS = 100;

/** Events that are kept, and those that share a segment with the oldest of them. */
export const KEPT_EVENTS = 5000;

/** Length of a buildpack's name. */
export const MAX_BUILDPACK_NAME = 1024;

const guid = z.string().max(63);
const named = z.object({ guid, name: z.string().max(255).describe("Name at the time of the event.") });
const count = z.object({ current: z.int().min(0), previous: z.int().min(0) });
const state = z.string().max(63);

const appUsageEvent = z.object({
  guid: guid.describe("GUID of the event."),
  sequence: z.int().min(1).describe("Orders the events of all segments."),
  at: z.string().max(64).meta({ format: "date-time" }).describe("When it was recorded."),
  state: z
    .object({ current: state, previous: state })
    .describe("STARTED, STOPPED, TASK_STARTED, TASK_STOPPED, STAGING_STARTED, STAGING_STOPPED or BUILDPACK_SET."),
  app: named,
  process: z
    .object({ guid, type: z.string().max(255) })
    .optional()
    .describe("Of STARTED and STOPPED."),
  task: named.optional().describe("Of TASK_STARTED and TASK_STOPPED."),
  build: z.object({ guid }).optional().describe("Of STAGING_STARTED, STAGING_STOPPED and BUILDPACK_SET."),
  space: named,
  orgGUID: guid,
  buildpack: z.object({ name: z.string().max(MAX_BUILDPACK_NAME) }).optional(),
  memoryMB: count.describe("Per instance."),
  instances: count,
  packageState: z.object({ current: state, previous: state }),
});
export type AppUsageEvent = z.output<typeof appUsageEvent>;

export const UsageLog = defineKind({
  group: GROUP,
  kind: "UsageLog",
  plural: "usagelogs",
  namespaced: true,
  permissions: [{ verbs: READ, roles: [GLOBAL_AUDITOR_CLUSTER_ROLE] }],
  shortNames: ["cfusage"],
  description: `Usage events of apps, tasks and builds, for billing. The platform writes them into its own namespace: the newest ${KEPT_EVENTS} or so are kept, and the last one of everything that still runs. Deleting them all begins anew with what runs now.`,
  columns: [
    { name: "Writer", jsonPath: ".spec.writer" },
    { name: "First", jsonPath: ".spec.events[0].at" },
    { name: "States", jsonPath: ".spec.events[*].state.current" },
  ],
  spec: z.object({
    writer: z.string().max(255).describe("The process that appends to it."),
    events: listAtomic(z.array(appUsageEvent).max(MAX_SEGMENT_EVENTS)).describe("The events, oldest first."),
  }),
  status: readyStatus({}),
});
export type UsageLog = Resource<typeof UsageLog>;
