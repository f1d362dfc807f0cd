// An app's crashes of late, so that a crash loop is seen from its first restart: the instance runs again by then. Pure but for readCrashes.
import type { Resource } from "../api/client.ts";
import type { Context } from "../context.ts";
import type { AuditEvent } from "./events.ts";

/** Crashes from before say nothing of the app as it is now. */
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
    .catch(() => ({ resources: [] })); // the app is told without them
  return resources;
}

/** How many, when the last one was, and why; undefined without one of late. */
export function describeCrashes(crashes: readonly AuditEvent[], now: Date): string | undefined {
  const recent = crashes.filter(({ created_at: time }) => now.getTime() - Date.parse(time) < RECENT_MS);
  const [last] = recent;
  if (!last) return undefined;
  const { index, exit_description: why } = last.data;
  const count = `${recent.length}${recent.length === MAX_READ ? " or more" : ""}`;
  const place = typeof index === "number" ? `, instance #${index}` : "";
  // Behind it is a step for people who use cf.
  const reason = typeof why === "string" && why !== "" ? `: ${why.split("; ", 1)[0]}` : "";
  return `${count} in the last hour; the last at ${last.created_at}${place}${reason}`;
}
