// Endpoints of sidecars: `/v3/sidecars/:guid`, those of an app, and those of a process.
import { z } from "zod";
import { App } from "../../crds/app/app.ts";
import { Process } from "../../crds/process/process.ts";
import type { Session } from "../access/session.ts";
import { findSidecar, sidecarsOf, type AppSidecar, type SidecarInput } from "../cf/process/sidecars.ts";
import { saveSidecar } from "../cf/process/save-sidecar.ts";
import { appOf } from "../cf/app/owner-app.ts";
import { getProcess, getProcessOfType } from "../cf/process/processes.ts";
import { created, endpoint, noContent, ok, type Endpoint, type Reply } from "../routing/endpoint.ts";
import { notFound, unprocessable } from "../http/errors.ts";
import { presentPage } from "../lists/page.ts";
import { toOneRelationship } from "../http/presentation.ts";
import { listQuery, timeFilter } from "../http/query.ts";
import { requiredText } from "../http/shared-schemas.ts";
import { matchesTimeFilter } from "../http/timestamps.ts";
import { withoutNulls } from "../cf/without-nulls.ts";

const path = "/v3/sidecars/:guid";
const byApp = "/v3/apps/:guid/sidecars";
const write = { verb: "update", on: App, subresource: "content" } as const;

const LEAST = "must have at least 1 process_type";
const NO_TYPES = `must be an array, Process types ${LEAST}`;

const fields = {
  name: requiredText("Name").min(1).max(255),
  command: requiredText("Command").min(1).max(4096),
  process_types: z.array(z.string().min(1).max(255), NO_TYPES).min(1, LEAST).max(50),
  memory_in_mb: z.int().min(1, "must be greater than 0").max(4_194_304).nullish(),
};
const createBody = z.strictObject(fields);
const updateBody = z.strictObject(fields).partial();
const query = listQuery({}, { labels: false });

function present(session: Session, app: App, sidecar: AppSidecar): object {
  return {
    guid: sidecar.guid,
    name: sidecar.name,
    command: sidecar.command,
    process_types: sidecar.processTypes,
    memory_in_mb: sidecar.memoryMB ?? null,
    origin: sidecar.origin,
    relationships: { app: toOneRelationship(session.cache.guid(App, app)) },
    created_at: sidecar.createdAt,
    updated_at: sidecar.updatedAt,
  };
}

interface ListRequest {
  session: Session;
  query: z.output<typeof query>;
  base: string;
  url: string;
}

function listReply({ session, query: asked, base, url }: ListRequest, app: App, type?: string): Reply {
  const created_ats = timeFilter(asked, "created_ats");
  const updated_ats = timeFilter(asked, "updated_ats");
  const seconds = (time: string): number => Date.parse(time) / 1000;
  const found = sidecarsOf(session.cache, app).filter(
    (one) =>
      (type === undefined || one.processTypes.includes(type)) &&
      (!asked.guids || asked.guids.includes(one.guid)) &&
      (!created_ats || matchesTimeFilter(created_ats, seconds(one.createdAt))) &&
      (!updated_ats || matchesTimeFilter(updated_ats, seconds(one.updatedAt))),
  );
  if (asked.order_by?.endsWith("updated_at")) found.sort((a, b) => (a.updatedAt < b.updatedAt ? -1 : 1));
  if (asked.order_by?.startsWith("-")) found.reverse();
  return ok(presentPage(found, { base, url, query: asked }, (one) => present(session, app, one)));
}

/** @throws CFError `Sidecar not found` */
function getSidecar(session: Session, guid: string): { app: App; sidecar: AppSidecar } {
  const found = findSidecar(session, guid);
  if (!found) throw notFound("Sidecar");
  return found;
}

/** As `getSidecar`, with its app read by its GUID: that asks for the endpoint's permission on it. */
function getWritable(session: Session, guid: string): { app: App; sidecar: AppSidecar } {
  const { app, sidecar } = getSidecar(session, guid);
  const found = session.get(App, session.cache.guid(App, app));
  if (sidecar.origin === "buildpack")
    throw unprocessable(`Sidecar '${sidecar.name}' comes from a buildpack and changes with the droplet only.`);
  return { app: found, sidecar };
}

async function save(session: Session, app: App, input: SidecarInput, guid?: string): Promise<object> {
  const saved = await saveSidecar(session, app, input, guid);
  const made = sidecarsOf(session.cache, saved).find(({ name }) => name === input.name);
  if (!made) throw notFound("Sidecar");
  return present(session, saved, made);
}

function toInput(body: Partial<z.output<typeof createBody>>, before?: AppSidecar): SidecarInput {
  const { name = "", command = "", processTypes = [], memoryMB } = before ?? {};
  const given = { name: body.name, command: body.command, processTypes: body.process_types };
  return {
    ...{ name, command, processTypes },
    ...(withoutNulls(given) as Partial<SidecarInput>),
    memoryMB: body.memory_in_mb === undefined ? memoryMB : body.memory_in_mb,
  };
}

const lists: readonly Endpoint[] = [
  endpoint({
    method: "GET",
    path: byApp,
    permission: { verb: "get", on: App },
    query,
    summary: "List sidecars of an app",
    handler: (request) => listReply(request, request.session.get(App, request.params.guid)),
  }),
  endpoint({
    method: "GET",
    path: "/v3/processes/:guid/sidecars",
    permission: { verb: "get", on: Process },
    query,
    summary: "List sidecars of a process",
    handler: (request) => ofProcess(request, getProcess(request.session, request.params.guid)),
  }),
  endpoint({
    method: "GET",
    path: "/v3/apps/:guid/processes/:type/sidecars",
    permission: { verb: "get", on: Process },
    query,
    summary: "List sidecars of an app's process",
    handler: (request) => {
      const { session, params } = request;
      return ofProcess(request, getProcessOfType(session, session.get(App, params.guid), params.type));
    },
  }),
];

function ofProcess(request: ListRequest, process: Process): Reply {
  const app = appOf(request.session.cache, process);
  if (!app) throw notFound("Process");
  return listReply(request, app, process.spec.type);
}

export const sidecarEndpoints: readonly Endpoint[] = [
  ...lists,
  endpoint({
    method: "POST",
    path: byApp,
    permission: write,
    asks: [{ verb: "patch", on: App }],
    body: createBody,
    summary: "Create a sidecar for an app",
    handler: async ({ session, params, body }) =>
      created(await save(session, session.get(App, params.guid), toInput(body))),
  }),
  endpoint({
    method: "GET",
    path,
    permission: { verb: "get", on: App },
    summary: "Get a sidecar",
    handler: ({ session, params }) => {
      const { app, sidecar } = getSidecar(session, params.guid);
      return ok(present(session, app, sidecar));
    },
  }),
  endpoint({
    method: "PATCH",
    path,
    permission: write,
    asks: [{ verb: "patch", on: App }],
    body: updateBody,
    summary: "Update a sidecar",
    handler: async ({ session, params, body }) => {
      const { app, sidecar } = getWritable(session, params.guid);
      return ok(await save(session, app, toInput(body, sidecar), sidecar.guid));
    },
  }),
  endpoint({
    method: "DELETE",
    path,
    permission: write,
    asks: [{ verb: "patch", on: App }],
    summary: "Delete a sidecar",
    handler: async ({ session, params }) => {
      const { app, sidecar } = getWritable(session, params.guid);
      await session.patchWithRetry(App, app, (current) => ({
        spec: { sidecars: (current.spec.sidecars ?? []).filter(({ name }) => name !== sidecar.name) },
      }));
      return noContent();
    },
  }),
];
