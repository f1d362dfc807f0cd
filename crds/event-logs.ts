// Kinds that are logs of events: they have no conditions and no owner, and tell who did what.
import { AuditLog } from "./audit-log/audit-log.ts";
import { ServiceUsageLog } from "./service-usage-log/service-usage-log.ts";
import { UsageLog } from "./usage-log/usage-log.ts";

/** Names of the kinds. */
export const EVENT_LOGS: ReadonlySet<string> = new Set([AuditLog, UsageLog, ServiceUsageLog].map(({ kind }) => kind));
