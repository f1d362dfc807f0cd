// Writes audit events into AuditLog objects.
import { AuditLog, MAX_SEGMENT_EVENTS, type AuditEvent } from "../../crds/audit-log/audit-log.ts";
import type { Permission } from "../../kube/rbac/resource-rules.ts";
import { createEventWriter, type EventWriter, type EventWriterDeps } from "./event-writer.ts";

export const AUDIT_WRITER_PERMISSIONS: readonly Permission[] = [{ resource: AuditLog, verbs: ["create", "patch"] }];

export type AuditWriter = EventWriter<AuditEvent>;
export type AuditWriterDeps = Omit<EventWriterDeps, "kind">;

const kind = { ref: AuditLog, prefix: "audit", maxEvents: MAX_SEGMENT_EVENTS };

export function createAuditWriter(deps: AuditWriterDeps): AuditWriter {
  return createEventWriter<AuditEvent>({ ...deps, kind });
}
