// Endpoints of deployments: `/v3/deployments`. Each is a Rollout.
import { App } from "../../crds/app/app.ts";
import { COMMAND_PATCHES } from "../../crds/cf-command-patches.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { Revision } from "../../crds/revision/revision.ts";
import { Rollout } from "../../crds/rollout/rollout.ts";
import { continuationOf } from "../../crds/rollout/rules.ts";
import { writeAllOrNone } from "../access/rehearsal.ts";
import type { Session } from "../access/session.ts";
import { requireNotSuspended } from "../access/suspension.ts";
import { isOneOf, listObjects } from "../lists/list-objects.ts";
import { appGUIDOf, appOf } from "../cf/app/owner-app.ts";
import { toMetadataPatch } from "../http/metadata.ts";
import { deploymentStatus } from "../cf/rollout/app-rollouts.ts";
import { created, endpoint, ok, type Endpoint, type Reply } from "../routing/endpoint.ts";
import { notFound, unprocessable } from "../http/errors.ts";
import { presentPage } from "../lists/page.ts";
import { metadataOnlySchema } from "../http/shared-schemas.ts";
import { createDeployment } from "./create.ts";
import { createDeploymentBody, deploymentListQuery } from "./payload.ts";
import { presentDeployment } from "./present.ts";
import { Process } from "../../crds/process/process.ts";

const path = "/v3/deployments/:guid";
const DONE: Reply = { status: 200 };

const list = endpoint({
  method: "GET",
  path: "/v3/deployments",
  permission: "authenticated",
  lists: [Rollout],
  query: deploymentListQuery,
  summary: "List deployments",
  handler: ({ session, query, base, url }) => {
    const found = listObjects(session, Rollout, query, {
      url,
      filter: (rollout) => {
        const { state, value, reason } = deploymentStatus(session.cache, rollout);
        return (
          isOneOf(query.states, state) &&
          isOneOf(query.status_values, value) &&
          isOneOf(query.status_reasons, reason) &&
          (!query.app_guids || query.app_guids.includes(appGUIDOf(session.cache, rollout)))
        );
      },
      dependsOn: [App, Droplet, Revision],
      // A newer Rollout of the app changes the state of the one before without a write to it.
      filterReads: [
        ...(query.states || query.status_values || query.status_reasons ? [Rollout] : []),
        ...(query.app_guids ? [App] : []),
      ],
    });
    return ok(presentPage(found, { base, url, query }, (rollout) => presentDeployment(session.cache, rollout, base)));
  },
});

const get = endpoint({
  method: "GET",
  path,
  permission: { verb: "get", on: Rollout },
  summary: "Get a deployment",
  handler: async ({ session, params, base }) => {
    // `cf` polls until it is deployed or paused.
    await session.holdWhile([Rollout, Revision, App], () => {
      const { value, state } = deploymentStatus(session.cache, session.get(Rollout, params.guid));
      return value === "ACTIVE" && state !== "PAUSED";
    });
    return ok(presentDeployment(session.cache, session.get(Rollout, params.guid), base));
  },
});

const create = endpoint({
  method: "POST",
  path: "/v3/deployments",
  permission: { verb: "create", on: Rollout },
  asks: [
    { verb: "patch", on: App },
    { verb: "get", on: App, subresource: "env" },
    { verb: "update", on: App, subresource: "env" },
    { verb: "update", on: App, subresource: "content" },
    { verb: "get", on: Revision, subresource: "secrets" },
    { verb: "create", on: Process },
    { verb: "patch", on: Process },
  ],
  body: createDeploymentBody,
  summary: "Create a deployment",
  handler: async ({ session, body, base }) => {
    const make = (writer: Session): Promise<Rollout> => createDeployment(writer, body);
    return created(
      presentDeployment(session.cache, await writeAllOrNone(session, [App, Process, Rollout], make), base),
    );
  },
});

const update = endpoint({
  method: "PATCH",
  path,
  permission: [
    { verb: "patch", on: Rollout },
    { verb: "update", on: Rollout, subresource: "settings" },
  ],
  body: metadataOnlySchema,
  summary: "Update a deployment's metadata",
  handler: async ({ session, params, body, base }) => {
    const rollout = session.get(Rollout, params.guid);
    const metadata = toMetadataPatch(body.metadata, rollout);
    const after = await session.patch(Rollout, rollout, { type: "merge", body: { metadata } });
    return ok(presentDeployment(session.cache, after, base));
  },
});

/** As in CF, it does not exist for those who may only read it. */
function getManageable(session: Session, guid: string): Rollout {
  const rollout = session.find(Rollout, guid);
  const { namespace = "", name = "" } = rollout?.metadata ?? {};
  if (!rollout || !session.allows({ verb: "patch", on: Rollout, namespace, name })) throw notFound("Deployment");
  requireNotSuspended(session, namespace);
  return rollout;
}

const cancel = endpoint({
  method: "POST",
  path: `${path}/actions/cancel`,
  permission: { verb: "patch", on: Rollout },
  asks: [{ verb: "patch", on: App }],
  summary: "Cancel a deployment",
  handler: async ({ session, params }) => {
    const rollout = getManageable(session, params.guid);
    const { value, reason } = deploymentStatus(session.cache, rollout);
    if (value !== "ACTIVE")
      throw unprocessable(`Cannot cancel a deployment with status: ${value} and reason: ${reason}`);
    await session.patch(Rollout, rollout, { type: "merge", body: { spec: { cancelled: true } } });
    await returnDroplet(session, rollout);
    return DONE;
  },
});

/** The app's droplet is the former one at once; the controller would see to it a moment later. */
async function returnDroplet(session: Session, rollout: Rollout): Promise<void> {
  const app = appOf(session.cache, rollout);
  const former = rollout.spec.previousDroplet?.name;
  if (app && former !== undefined && app.spec.droplet?.name !== former)
    await session.patch(App, app, { type: "merge", body: COMMAND_PATCHES.setDroplet.patch(former) });
}

const proceed = endpoint({
  method: "POST",
  path: `${path}/actions/continue`,
  permission: { verb: "patch", on: Rollout },
  summary: "Continue a paused deployment",
  handler: async ({ session, params }) => {
    await session.patchWithRetry(Rollout, getManageable(session, params.guid), (current) => {
      const { state, value, reason } = deploymentStatus(session.cache, current);
      if (state !== "PAUSED")
        throw unprocessable(`Cannot continue a deployment with status: ${value} and reason: ${reason}`);
      return { spec: continuationOf(current) };
    });
    return DONE;
  },
});

export const deploymentEndpoints: readonly Endpoint[] = [list, get, create, update, cancel, proceed];
