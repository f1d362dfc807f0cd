// Start, stop, restart, and the current droplet. Actions set fields: each is one patch of the App.
import { App } from "../../crds/app/app.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { newGUID } from "../../crds/guid.ts";
import { COMMAND_PATCHES } from "../../crds/cf-command-patches.ts";
import { accepted, endpoint, ok } from "../routing/endpoint.ts";
import { newJob } from "../jobs/jobs.ts";
import { notFound, unprocessable } from "../http/errors.ts";
import { currentDroplet, requireStaged } from "../cf/app/current-droplet.ts";
import { createOrPatchProcess } from "../cf/process/create-process.ts";
import { requireAttached } from "../cf/process/detached.ts";
import { processesOf } from "../cf/process/processes.ts";
import { findRunnerProblem } from "../cf/process/runner-class.ts";
import { requireProcessQuota } from "../cf/quota/check.ts";
import { requireServiceFiles } from "../cf/service/require-service-files.ts";
import { requireNoDeployment } from "../cf/rollout/app-rollouts.ts";
import { toOneRelationship } from "../http/presentation.ts";
import type { Session } from "../access/session.ts";
import { currentDropletBody } from "./payload.ts";
import { presentApp } from "./present.ts";
import { Process } from "../../crds/process/process.ts";

const path = "/v3/apps/:guid";
const DEPLOYMENT_IN_PROGRESS =
  "Unable to assign current droplet while the app has a deployment in progress. Wait for the deployment to complete or cancel it.";
const state = { verb: "update", on: App, subresource: "state" } as const;

async function change(session: Session, app: App, body: { spec: Record<string, unknown> }): Promise<App> {
  return session.patch(App, app, { type: "merge", body });
}

async function startable(session: Session, guid: string): Promise<App> {
  const app = session.get(App, guid);
  requireAttached(session, app);
  const droplet = currentDroplet(session.cache, app);
  if (!droplet) throw unprocessable("Assign a droplet before starting this app.");
  const problem = findRunnerProblem(processesOf(session, app), droplet, session.cache.store(BackendClass).list());
  if (problem !== undefined) throw unprocessable(problem);
  requireProcessQuota(session, processesOf(session, app));
  await requireServiceFiles(session, app);
  return app;
}

// A start also sets `restart`: a controller that never observed the stop in between would otherwise see no change.
const start = endpoint({
  method: "POST",
  path: `${path}/actions/start`,
  permission: state,
  asks: [{ verb: "patch", on: App }],
  summary: "Start an app",
  handler: async ({ session, params, base }) => {
    const app = await startable(session, params.guid);
    const after =
      app.spec.state === "Started" ? app : await change(session, app, COMMAND_PATCHES.restart.patch(newGUID()));
    return ok(presentApp(session.cache, after, base));
  },
});

const stop = endpoint({
  method: "POST",
  path: `${path}/actions/stop`,
  permission: state,
  asks: [{ verb: "patch", on: App }],
  summary: "Stop an app",
  handler: async ({ session, params, base }) => {
    const app = session.get(App, params.guid);
    requireAttached(session, app);
    return ok(
      presentApp(
        session.cache,
        app.spec.state === "Stopped" ? app : await change(session, app, COMMAND_PATCHES.stop.patch()),
        base,
      ),
    );
  },
});

const restart = endpoint({
  method: "POST",
  path: `${path}/actions/restart`,
  permission: state,
  asks: [{ verb: "patch", on: App }],
  summary: "Restart an app",
  handler: async ({ session, params, base }) =>
    ok(
      presentApp(
        session.cache,
        await change(session, await startable(session, params.guid), COMMAND_PATCHES.restart.patch(newGUID())),
        base,
      ),
    ),
});

const setDroplet = endpoint({
  method: "PATCH",
  path: `${path}/relationships/current_droplet`,
  permission: { verb: "update", on: App, subresource: "droplet" },
  asks: [
    { verb: "patch", on: App },
    { verb: "create", on: Process },
    { verb: "patch", on: Process },
  ],
  body: currentDropletBody,
  summary: "Set the current droplet",
  handler: async ({ session, params, body, base }) => {
    const app = session.get(App, params.guid);
    requireNoDeployment(session.cache, app, DEPLOYMENT_IN_PROGRESS);
    const droplet = assignableDroplet(session, app, body.data?.guid);
    await change(session, app, COMMAND_PATCHES.setDroplet.patch(droplet.metadata.name));
    await addProcesses(session, app, Object.keys(droplet.spec.processTypes));
    return ok({
      ...toOneRelationship(session.cache.guid(Droplet, droplet)),
      links: dropletLinks(base, params.guid),
    });
  },
});

/** @throws CFError 422 when the GUID is missing, or the droplet belongs to another app */
function assignableDroplet(session: Session, app: App, guid: string | null | undefined): Droplet {
  if (guid === null || guid === undefined)
    throw unprocessable("Current droplet cannot be removed. Replace it with a preferred droplet.");
  const droplet = session.find(Droplet, guid);
  const isOwn =
    droplet?.metadata.namespace === app.metadata.namespace && droplet?.spec.appRef.name === app.metadata.name;
  if (droplet && isOwn) return requireStaged(droplet);
  throw unprocessable("Unable to assign current droplet. Ensure the droplet exists and belongs to this app.");
}

/** Creates a process with the default number of instances for each process type of the droplet; never removes one. */
async function addProcesses(session: Session, app: App, types: readonly string[]): Promise<void> {
  const known = new Set(processesOf(session, app).map((process) => process.spec.type));
  for (const type of types.filter((one) => !known.has(one))) await createOrPatchProcess(session, app, type, {});
}

function dropletLinks(base: string, guid: string): object {
  return {
    self: { href: `${base}/v3/apps/${guid}/relationships/current_droplet` },
    related: { href: `${base}/v3/apps/${guid}/droplets/current` },
  };
}

const clearBuildCache = endpoint({
  method: "POST",
  path: `${path}/actions/clear_buildpack_cache`,
  permission: state,
  asks: [{ verb: "patch", on: App }],
  summary: "Let the app's next build start without a cache",
  handler: async ({ session, params }) => {
    const app = session.get(App, params.guid);
    await change(session, app, COMMAND_PATCHES.clearBuildCache.patch(newGUID()));
    return accepted(await newJob(session, "app.clear_buildpack_cache", params.guid));
  },
});

const getDroplet = endpoint({
  method: "GET",
  path: `${path}/relationships/current_droplet`,
  permission: { verb: "get", on: App },
  summary: "Get the current droplet's GUID",
  handler: ({ session, params, base }) => {
    const app = session.get(App, params.guid);
    const droplet = currentDroplet(session.cache, app);
    if (!droplet) throw notFound("Droplet");
    return ok({
      ...toOneRelationship(session.cache.guid(Droplet, droplet)),
      links: dropletLinks(base, params.guid),
    });
  },
});

export const appActions = [start, stop, restart, clearBuildCache, setDroplet, getDroplet];
