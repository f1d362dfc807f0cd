// `cup delete`.
import { confirm } from "../confirm.ts";
import type { Context } from "../context.ts";
import type { Result } from "../output.ts";

export interface DeleteOptions {
  routes?: boolean;
  force?: boolean;
}

export async function deleteApp(context: Context, name: string, options: DeleteOptions): Promise<Result> {
  const app = await context.app(name);
  const { api, progress } = context;
  const routes = options.routes ? await api.list(`/v3/apps/${app.guid}/routes`) : [];
  const withRoutes = routes.length > 0 ? ` and ${routes.length} of its routes` : "";
  await confirm(`Delete app ${name}${withRoutes}?`, options.force);
  progress.step(`Deleting ${name}${withRoutes}`);
  for (const route of routes) await api.waitForJob((await api.start("DELETE", `/v3/routes/${route.guid}`)).job);
  await api.waitForJob((await api.start("DELETE", `/v3/apps/${app.guid}`)).job);
  return { json: { deleted: app.guid, routes: routes.map((route) => route.guid) }, text: [`${name} is gone.`] };
}
