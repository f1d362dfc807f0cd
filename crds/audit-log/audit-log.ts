// The AuditLog kind: a segment of the audit events of one namespace. One process appends to it; a full one is followed by another.
import { z } from "zod";
import { listAtomic, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { GROUP } from "../groups.ts";
import { defineKind, READ } from "../kind.ts";
import {
  GLOBAL_AUDITOR_CLUSTER_ROLE,
  SPACE_DEVELOPER,
  SPACE_SUPPORTER,
  SPACE_AUDITOR,
  ORG_AUDITOR,
  ORG_AUDITOR_IN_SPACE,
} from "../roles.ts";

/** Events in one segment; the next one goes to a new object. */
export const MAX_SEGMENT_EVENTS = 100;
/** Events that are kept per namespace, and those that share a segment with the oldest of them. */
export const KEPT_EVENTS = 1000;
/** Length of an event's data, as JSON text. */
export const MAX_EVENT_DATA = 8192;
/** Length of the GUID, and of the name, of an event's actor and target. */
export const MAX_PARTY_NAME = 255;

const party = z.object({
  guid: z.string().max(MAX_PARTY_NAME).describe("GUID; of a user, the Kubernetes user name."),
  type: z.string().max(63).describe("What it is: user, app, route, process, …"),
  name: z.string().max(MAX_PARTY_NAME).describe("Name at the time of the event."),
});

const auditEvent = z.object({
  guid: z.string().max(63).describe("GUID of the event. It sorts by time."),
  at: z.string().max(64).meta({ format: "date-time" }).describe("When it happened."),
  type: z.string().max(128).describe("What happened, in CF's words: audit.app.create, audit.app.process.crash, …"),
  actor: party.describe("Who did it."),
  target: party.describe("What it was done to."),
  spaceGUID: z.string().max(63).optional().describe("GUID of the target's space."),
  orgGUID: z.string().max(63).optional().describe("GUID of the target's organization."),
  requestId: z
    .string()
    .max(300)
    .optional()
    .describe("X-Vcap-Request-Id of the request to the CF API; Audit-ID in the audit log of Kubernetes."),
  data: z.string().max(MAX_EVENT_DATA).optional().describe("More about it: a JSON object, without secrets."),
});
export type AuditEvent = z.output<typeof auditEvent>;

export const AuditLog = defineKind({
  group: GROUP,
  kind: "AuditLog",
  plural: "auditlogs",
  namespaced: true,
  livesIn: ["org", "space", "system"],
  hasLocalDependents: true,
  deletedWithSpace: "last",
  permissions: [
    {
      verbs: READ,
      roles: [
        SPACE_DEVELOPER,
        SPACE_AUDITOR,
        SPACE_SUPPORTER,
        ORG_AUDITOR,
        ORG_AUDITOR_IN_SPACE,
        GLOBAL_AUDITOR_CLUSTER_ROLE,
      ],
    },
  ],
  shortNames: ["cfaudit"],
  description: `Audit events of an organization's or a space's namespace, or of the platform. The platform writes them: the newest ${KEPT_EVENTS} or so events of a namespace are kept.`,
  columns: [
    { name: "Writer", jsonPath: ".spec.writer" },
    { name: "First", jsonPath: ".spec.events[0].at" },
    { name: "Types", jsonPath: ".spec.events[*].type" },
  ],
  spec: z.object({
    writer: z.string().max(255).describe("The process that appends to it."),
    events: listAtomic(z.array(auditEvent).max(MAX_SEGMENT_EVENTS)).describe("The events, oldest first."),
  }),
  status: readyStatus({}),
});
export type AuditLog = Resource<typeof AuditLog>;
