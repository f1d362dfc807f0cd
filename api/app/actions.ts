// Start, stop, restart, and which droplet runs. Verbs are fields: each is one patch of the App.
import { App } from "../../crds/app/app.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { newGUID } from "../../crds/guid.ts";
import { COMMAND_PATCHES } from "../../crds/command-patches.ts";
import { endpoint, ok } from "../http/endpoint.ts";
import { unprocessable } from "../http/errors.ts";
import { currentDroplet, createOrPatchProcess, processesOf } from "../cf/app-children.ts";
import { toOneRelationship } from "../http/presentation.ts";
import type { Session } from "../access/session.ts";
import { currentDropletBody } from "./payload.ts";
import { presentApp } from "./present.ts";

const path = "/v3/apps/:guid";
const state = { verb: "update", on: App, subresource: "state" } as const;

async function change(as: Session, app: App, body: { spec: Record<string, unknown> }): Promise<App> {
  return as.patch(App, app, { type: "merge", body });
}

function startable(as: Session, guid: string): App {
  const app = as.get(App, guid);
  if (!currentDroplet(as.cache, app)) throw unprocessable("Assign a droplet before starting this app.");
  return app;
}

// A start right after a stop must not look as if nothing had happened: so a start out of Stopped is a restart, too.
const start = endpoint(
  "POST",
  `${path}/actions/start`,
  { permission: state, summary: "Start an app" },
  async ({ as, params, base }) => {
    const app = startable(as, params["guid"] ?? "");
    const after = app.spec.state === "Started" ? app : await change(as, app, COMMAND_PATCHES.restart.patch(newGUID()));
    return ok(presentApp(as.cache, after, base));
  },
);

const stop = endpoint(
  "POST",
  `${path}/actions/stop`,
  { permission: state, summary: "Stop an app" },
  async ({ as, params, base }) => {
    const app = as.get(App, params["guid"] ?? "");
    return ok(
      presentApp(
        as.cache,
        app.spec.state === "Stopped" ? app : await change(as, app, COMMAND_PATCHES.stop.patch()),
        base,
      ),
    );
  },
);

const restart = endpoint(
  "POST",
  `${path}/actions/restart`,
  { permission: state, summary: "Restart an app" },
  async ({ as, params, base }) =>
    ok(
      presentApp(
        as.cache,
        await change(as, startable(as, params["guid"] ?? ""), COMMAND_PATCHES.restart.patch(newGUID())),
        base,
      ),
    ),
);

const setDroplet = endpoint(
  "PATCH",
  `${path}/relationships/current_droplet`,
  {
    permission: { verb: "update", on: App, subresource: "droplet" },
    body: currentDropletBody,
    summary: "Set the current droplet",
  },
  async ({ as, params, body, base }) => {
    const app = as.get(App, params["guid"] ?? "");
    const droplet = as.find(Droplet, body.data.guid);
    const mine =
      droplet?.metadata.namespace === app.metadata.namespace && droplet?.spec.appRef.name === app.metadata.name;
    if (!droplet || !mine)
      throw unprocessable("Unable to assign current droplet. Ensure the droplet exists and belongs to this app.");
    await change(as, app, COMMAND_PATCHES.setDroplet.patch(droplet.metadata.name));
    await addProcesses(as, app, Object.keys(droplet.spec.processTypes));
    return ok({ ...toOneRelationship(body.data.guid), links: dropletLinks(base, params["guid"] ?? "") });
  },
);

/** A process of its own for each type of the droplet, of as many instances as its type has by default; none is ever taken away. */
async function addProcesses(as: Session, app: App, types: readonly string[]): Promise<void> {
  const known = new Set(processesOf(as, app).map((process) => process.spec.type));
  for (const type of types.filter((one) => !known.has(one))) await createOrPatchProcess(as, app, type, {});
}

function dropletLinks(base: string, guid: string): object {
  return {
    self: { href: `${base}/v3/apps/${guid}/relationships/current_droplet` },
    related: { href: `${base}/v3/apps/${guid}/droplets/current` },
  };
}

const getDroplet = endpoint(
  "GET",
  `${path}/relationships/current_droplet`,
  { permission: { verb: "get", on: App }, summary: "The current droplet's GUID" },
  ({ as, params, base }) => {
    const app = as.get(App, params["guid"] ?? "");
    const droplet = currentDroplet(as.cache, app);
    return ok({
      ...toOneRelationship(droplet && as.cache.guid(Droplet, droplet)),
      links: dropletLinks(base, params["guid"] ?? ""),
    });
  },
);

export const appActions = [start, stop, restart, setDroplet, getDroplet];
