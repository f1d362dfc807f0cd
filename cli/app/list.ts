// `cup apps`.
import type { Context } from "../context.ts";
import { table, type Result } from "../output.ts";
import type { Json, Resource } from "../api/client.ts";
import { countCrashes } from "./crashes.ts";
import { readProcesses, readUrls, stateOf, summarise, type AppState } from "./process-state.ts";

export async function listApps(context: Context): Promise<Result> {
  const space = await context.space();
  const [apps, crashes] = await Promise.all([
    context.api.list("/v3/apps", { space_guids: space.guid, order_by: "name" }),
    countCrashes(context, space, new Date()),
  ]);
  const rows = await Promise.all(
    apps.map(async (app) => {
      const [processes, urls, hasFailed] = await Promise.all([
        readProcesses(context, app),
        readUrls(context, app),
        hasFailedBuild(context, app),
      ]);
      const state = stateOf(app, processes, hasFailed);
      const instances = summarise(app, processes);
      return { name: app.name, guid: app.guid, state, instances, crashes: crashes.get(app.guid) ?? 0, urls };
    }),
  );
  const text =
    rows.length === 0
      ? [`No apps in space ${space.name}. Next: cup push`]
      : table(
          ["name", "state", "instances", "urls"],
          rows.map((row) => [
            row.name,
            tellState(row),
            row.state === "stopped" ? "" : row.instances,
            row.urls.join(", "),
          ]),
        );
  return { json: rows, text };
}

/** A crash loop is visible from its first restart, when the instance runs again. */
function tellState({ state, crashes }: { state: AppState; crashes: number }): string {
  if (crashes === 0 || state === "stopped") return state;
  return `${state}, ${crashes} ${crashes === 1 ? "crash" : "crashes"} in the last hour`;
}

/** Only an app that has no droplet is asked about: with one, it runs what was built before. */
async function hasFailedBuild({ api }: Context, app: Resource): Promise<boolean> {
  const { current_droplet: droplet } = (app["relationships"] ?? {}) as { current_droplet?: { data?: unknown } };
  if (droplet?.data && (droplet.data as { guid?: string | null }).guid) return false;
  const { resources } = await api.request<{ resources: Json[] }>("GET", "/v3/builds", {
    query: { app_guids: app.guid, order_by: "-created_at", per_page: "1" },
  });
  return resources[0]?.["state"] === "FAILED";
}
