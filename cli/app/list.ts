// `cup apps`.
import type { Context } from "../context.ts";
import { table, type Result } from "../output.ts";
import { readProcesses, readUrls, summarise } from "./process-state.ts";

export async function listApps(context: Context): Promise<Result> {
  const space = await context.space();
  const apps = await context.api.list("/v3/apps", { space_guids: space.guid, order_by: "name" });
  const rows = await Promise.all(
    apps.map(async (app) => {
      const [processes, urls] = await Promise.all([readProcesses(context, app), readUrls(context, app)]);
      return { name: app.name, guid: app.guid, state: app["state"], instances: summarise(app, processes), urls };
    }),
  );
  const text =
    rows.length === 0
      ? [`No apps in space ${space.name}. Next: cup push`]
      : table(
          ["name", "instances", "urls"],
          rows.map((row) => [row.name, row.instances, row.urls.join(", ")]),
        );
  return { json: rows, text };
}
