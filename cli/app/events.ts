// `cup events`: who did what to an app, or in the targeted space; newest first.
import type { Json } from "../api/client.ts";
import type { Context } from "../context.ts";
import { table, type Result } from "../output.ts";

export interface AuditEvent extends Json {
  created_at: string;
  type: string;
  actor: { name: string };
  target: { guid: string; type: string; name: string };
  data: Json;
}

export interface EventsOptions {
  limit: number;
}

export async function showEvents(
  context: Context,
  appName: string | undefined,
  { limit }: EventsOptions,
): Promise<Result> {
  const of: Readonly<Record<string, string>> =
    appName === undefined
      ? { space_guids: (await context.space()).guid }
      : { target_guids: (await context.app(appName)).guid };
  const query = { order_by: "-created_at", per_page: String(limit), ...of };
  const { resources } = await context.api.request<{ resources: AuditEvent[] }>("GET", "/v3/audit_events", { query });
  return { json: resources, text: eventTable(resources, appName === undefined) };
}

/** CF's second event of a crash: it says what `audit.app.process.crash` says. */
const REPEATED = "app.crash";

/** `withTarget`: events of several objects. Pure. */
export function eventTable(events: readonly AuditEvent[], withTarget: boolean): string[] {
  if (events.length === 0) return ["No events yet, or you may not see them."];
  const shown = events.filter(({ type }) => type !== REPEATED);
  const rows = shown.map(({ created_at: time, type, actor, target, data }) => [
    time,
    type.replace(/^audit\./, ""),
    ...(withTarget ? [`${target.type} ${target.name}`] : []),
    actor.name,
    describe(data),
  ]);
  return table(["time", "event", ...(withTarget ? ["target"] : []), "actor", "what"], rows);
}

/** Details that people look for: why it crashed or failed, and what a request changed. */
const TOLD = ["exit_description", "error_message", "index", "process_index", "process_type"] as const;

function describe(data: Json): string {
  const told = TOLD.flatMap((key) => (key in data ? [`${key.replaceAll("_", " ")}: ${String(data[key])}`] : []));
  const { request } = data;
  const changed = typeof request === "object" && request !== null ? [JSON.stringify(request)] : [];
  return [...told, ...changed].join(", ").slice(0, 200);
}
