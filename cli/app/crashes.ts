// Recent crashes of an app. A crash loop is visible from its first restart, when the instance runs again. Pure but for readCrashes.
import type { Resource } from "../api/client.ts";
import type { Context } from "../context.ts";
import type { AuditEvent } from "./events.ts";

/** Older crashes say nothing about the app's state now. */
const RECENT_MS = 3_600_000;
const MAX_READ = 50;

/** The newest first. None for a person who may not see events. */
export async function readCrashes({ api }: Context, app: Resource): Promise<AuditEvent[]> {
  const query = {
    target_guids: app.guid,
    types: "audit.app.process.crash",
    order_by: "-created_at",
    per_page: String(MAX_READ),
  };
  const { resources } = await api
    .request<{ resources: AuditEvent[] }>("GET", "/v3/audit_events", { query })
    .catch(() => ({ resources: [] })); // the app is shown without them
  return resources;
}

/** The count, and the time and reason of the last one; undefined without a recent one. */
export function describeCrashes(crashes: readonly AuditEvent[], now: Date): string | undefined {
  const recent = crashes.filter(({ created_at: time }) => now.getTime() - Date.parse(time) < RECENT_MS);
  const [last] = recent;
  if (!last) return undefined;
  const { index, exit_description: why } = last.data;
  const count = `${recent.length}${recent.length === MAX_READ ? " or more" : ""}`;
  const place = typeof index === "number" ? `, instance #${index}` : "";
  // The part behind the semicolon is a next step for users of cf.
  const reason = typeof why === "string" && why !== "" ? `: ${why.split("; ", 1)[0]}` : "";
  return `${count} in the last hour; the last at ${last.created_at}${place}${reason}`;
}
