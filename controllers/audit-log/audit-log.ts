// Keeps the audit events of a namespace bounded: deletes its oldest AuditLogs.
import { AuditLog } from "../../crds/audit-log/audit-log.ts";
import { defineController } from "../../kube/controller/controller.ts";
import { deleteAll } from "../shared/history-limits.ts";
import { planExcessSegments } from "./plan.ts";

export const auditLogController = defineController({
  name: "audit-log",
  for: AuditLog,
  writesStatus: false,
  writesObject: false,
  workers: 1,
  permissions: [{ resource: AuditLog, verbs: ["delete"] }],
  async reconcile(segment, { read, client }) {
    const segments = read.list(AuditLog, { namespace: segment.metadata.namespace ?? "" });
    await deleteAll(client, AuditLog, planExcessSegments(segments));
    return {};
  },
});
