// Recent crashes of an app. A crash loop is visible from its first restart, when the instance runs again. Pure but for readCrashes.
import type { Resource } from "../api/client.ts";
import type { Context } from "../context.ts";
import type { AuditEvent } from "./events.ts";

/** Older crashes say nothing about the app's state now. */
const RECENT_MS = 3_600_000;
const MAX_READ = 50;
const MAX_READ_OF_SPACE = 500;

/** The newest first. None for a person who may not see events. */
export function readCrashes(context: Context, app: Resource): Promise<AuditEvent[]> {
  return read(context, { target_guids: app.guid }, MAX_READ);
}

/** Crashes of the last hour by the GUID of the app; the newest of a space with very many. */
export async function countCrashes(
  context: Context,
  space: { guid: string },
  now: Date,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const event of await read(context, { space_guids: space.guid }, MAX_READ_OF_SPACE))
    if (isRecent(event, now)) counts.set(event.target.guid, (counts.get(event.target.guid) ?? 0) + 1);
  return counts;
}

async function read({ api }: Context, about: Record<string, string>, max: number): Promise<AuditEvent[]> {
  const query = {
    ...about,
    types: "audit.app.process.crash",
    order_by: "-created_at",
    per_page: String(max),
  };
  const { resources } = await api
    .request<{ resources: AuditEvent[] }>("GET", "/v3/audit_events", { query })
    .catch(() => ({ resources: [] })); // apps are shown without them
  return resources;
}

/** The count, and the time and reason of the last one; undefined without a recent one. */
export function describeCrashes(crashes: readonly AuditEvent[], now: Date): string | undefined {
  const recent = crashes.filter((event) => isRecent(event, now));
  const [last] = recent;
  if (!last) return undefined;
  const { index, exit_description: why } = last.data;
  const count = `${recent.length}${recent.length === MAX_READ ? " or more" : ""}`;
  const place = typeof index === "number" ? `, instance #${index}` : "";
  // The part behind the semicolon is a next step for users of cf.
  const reason = typeof why === "string" && why !== "" ? `: ${why.split("; ", 1)[0]}` : "";
  return `${count} in the last hour; the last at ${last.created_at}${place}${reason}`;
}

function isRecent({ created_at: time }: AuditEvent, now: Date): boolean {
  return now.getTime() - Date.parse(time) < RECENT_MS;
}
