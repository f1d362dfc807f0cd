// `cup apps`.
import type { Context } from "../context.ts";
import { table, type Result } from "../output.ts";
import type { Json, Resource } from "../api/client.ts";
import { readProcesses, readUrls, stateOf, summarise } from "./process-state.ts";

export async function listApps(context: Context): Promise<Result> {
  const space = await context.space();
  const apps = await context.api.list("/v3/apps", { space_guids: space.guid, order_by: "name" });
  const rows = await Promise.all(
    apps.map(async (app) => {
      const [processes, urls, hasFailed] = await Promise.all([
        readProcesses(context, app),
        readUrls(context, app),
        hasFailedBuild(context, app),
      ]);
      const state = stateOf(app, processes, hasFailed);
      return { name: app.name, guid: app.guid, state, instances: summarise(app, processes), urls };
    }),
  );
  const text =
    rows.length === 0
      ? [`No apps in space ${space.name}. Next: cup push`]
      : table(
          ["name", "state", "instances", "urls"],
          rows.map((row) => [row.name, row.state, row.state === "stopped" ? "" : row.instances, row.urls.join(", ")]),
        );
  return { json: rows, text };
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
