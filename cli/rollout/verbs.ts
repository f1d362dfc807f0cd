// `cup rollout start`, `status`, `continue`, `cancel` and `undo`, and `cup revisions`.
import type { Resource } from "../api/client.ts";
import { readUrls } from "../app/process-state.ts";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import { table, type Result } from "../output.ts";
import {
  findActive,
  getActive,
  startDeployment,
  tellEnd,
  waitForDeployment,
  type Deployment,
  type DeployOptions,
} from "./deployment.ts";

interface Revision extends Resource {
  version: number;
  description: string;
  created_at: string;
  deployable: boolean;
}

/** Replaces the instances; `options.revision`: by those of a former revision. */
export async function startRollout(
  context: Context,
  name: string,
  { revision, ...options }: DeployOptions & { revision?: number },
): Promise<Result> {
  const app = await context.app(name);
  const former = revision === undefined ? undefined : await getRevision(context, app, revision);
  const source = former && { revision: { guid: former.guid } };
  return follow(context, app, await startDeployment(context, app, { ...(source && { source }), options }));
}

export async function showRollout(context: Context, name: string): Promise<Result> {
  const app = await context.app(name);
  const active = await findActive(context, app);
  if (active) return follow(context, app, active);
  const [last] = await context.api.list<Deployment>("/v3/deployments", {
    app_guids: app.guid,
    order_by: "-created_at",
    per_page: "1",
  });
  if (!last) return { json: null, text: [`${name} has had no rollout. Next: cup rollout start ${name}`] };
  return { json: last, text: [`The last rollout of ${name} is over: ${last.status.reason.toLowerCase()}.`] };
}

export async function continueRollout(context: Context, name: string): Promise<Result> {
  const app = await context.app(name);
  const active = await getActive(context, app);
  await context.api.request("POST", `/v3/deployments/${active.guid}/actions/continue`);
  return follow(context, app, active);
}

export async function cancelRollout(context: Context, name: string): Promise<Result> {
  const app = await context.app(name);
  const active = await getActive(context, app);
  await context.api.request("POST", `/v3/deployments/${active.guid}/actions/cancel`);
  return follow(context, app, active);
}

/** Cancels the rollout under way; without one, returns to the revision before the running one. */
export async function undoRollout(context: Context, name: string): Promise<Result> {
  const app = await context.app(name);
  if (await findActive(context, app)) return cancelRollout(context, name);
  const { api } = context;
  const running = Math.max(
    0,
    ...(await api.list<Revision>(`/v3/apps/${app.guid}/revisions/deployed`)).map(({ version }) => version),
  );
  const canceled = await listCanceled(context, app);
  const before = (await listRevisions(context, app)).find(
    ({ version, deployable }) => version < running && deployable && !canceled.has(version),
  );
  if (!before) throw new Failure(`${name} has no earlier revision to return to`, { next: `cup revisions ${name}` });
  context.progress.step(`Returning to revision ${before.version}`);
  return follow(
    context,
    app,
    await startDeployment(context, app, { source: { revision: { guid: before.guid } }, options: {} }),
  );
}

/** Versions that never ran alone. */
async function listCanceled({ api }: Context, app: Resource): Promise<Set<number | undefined>> {
  const query = { app_guids: app.guid, status_reasons: "CANCELED" };
  return new Set((await api.list<Deployment>("/v3/deployments", query)).map(({ revision }) => revision?.version));
}

/** Shows its progress and how it ends. */
async function follow(context: Context, app: Resource, { guid }: Deployment): Promise<Result> {
  const deployment = await waitForDeployment(context, app, guid);
  const [url] = await readUrls(context, app);
  return { json: deployment, text: tellEnd(deployment, app.name, url) };
}

async function listRevisions({ api }: Context, app: Resource): Promise<Revision[]> {
  return api.list<Revision>(`/v3/apps/${app.guid}/revisions`, { order_by: "-created_at" });
}

async function getRevision(context: Context, app: Resource, version: number): Promise<Revision> {
  const found = (await listRevisions(context, app)).find((revision) => revision.version === version);
  if (!found) throw new Failure(`${app.name} has no revision ${version}`, { next: `cup revisions ${app.name}` });
  return found;
}

export async function showRevisions(context: Context, name: string): Promise<Result> {
  const app = await context.app(name);
  const revisions = await listRevisions(context, app);
  const deployed = new Set(
    (await context.api.list<Revision>(`/v3/apps/${app.guid}/revisions/deployed`)).map(({ guid }) => guid),
  );
  const rows = revisions.map(({ guid, version, description, created_at: createdAt, deployable }) => [
    String(version),
    deployed.has(guid) ? "yes" : "",
    createdAt,
    deployable ? description : `${description} (its droplet is gone)`,
  ]);
  return {
    json: revisions.map((revision) => ({ ...revision, deployed: deployed.has(revision.guid) })),
    text:
      rows.length > 0 ? table(["version", "runs", "created", "description"], rows) : [`${name} has no revisions yet.`],
  };
}
