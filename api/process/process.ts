// Endpoints of Process: `/v3/processes`, and the processes of an app.
import { App } from "../../crds/app/app.ts";
import { Process } from "../../crds/process/process.ts";
import { restartInstancePatch } from "../../crds/cf-command-patches.ts";
import { creationSortKey, newGUID } from "../../crds/guid.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { PlacementDecision } from "../../crds/placement-decision/placement-decision.ts";
import { Space } from "../../crds/space/space.ts";
import { Revision } from "../../crds/revision/revision.ts";
import { Rollout } from "../../crds/rollout/rollout.ts";
import { endpoint, noContent, ok, type Endpoint, type Reply } from "../routing/endpoint.ts";
import { leavesRoom, sidecarsOf } from "../cf/process/sidecars.ts";
import { CFError, unprocessable } from "../http/errors.ts";
import { appGUIDOf, appOf, appKey } from "../cf/app/owner-app.ts";
import { requireAttached } from "../cf/process/detached.ts";
import { getProcess, getProcessOfType, processGUID } from "../cf/process/processes.ts";
import { listObjects, isOneOf } from "../lists/list-objects.ts";
import { requireChangeQuota } from "../cf/quota/check.ts";
import { requireFlag } from "../cf/feature-flags.ts";
import { requireNoDeployment } from "../cf/rollout/app-rollouts.ts";
import { withRolloutProcesses } from "../cf/process/web-processes.ts";
import { toMetadataPatch } from "../http/metadata.ts";
import { type PageRequest, presentPage } from "../lists/page.ts";
import { link } from "../http/presentation.ts";
import { spaceNamespaces } from "../cf/org/org-and-space-namespaces.ts";
import type { Services } from "../routing/services.ts";
import type { RequiredPermission } from "../access/required-permission.ts";
import type { Session } from "../access/session.ts";
import { updatedAt } from "../cache/object-times.ts";
import { requireNotSuspended } from "../access/suspension.ts";
import type { z } from "zod";
import {
  appProcessListQuery,
  processGetQuery,
  processListQuery,
  scaleBody,
  toProcessSpec,
  toScaleSpec,
  updateProcessBody,
} from "./payload.ts";
import { createStartPolls, type StartPolls } from "./start-polls.ts";
import { commandView, instancesOf, isStarting, presentProcess, processTextKey, wantedInstances } from "./present.ts";
import { presentStats } from "./stats.ts";
import { APP_SECRETS } from "../cf/app/app-secrets.ts";

const read = { verb: "get", on: Process } as const;
const scaleRight = { verb: "update", on: Process, subresource: "scale" } as const;
const byApp = "/v3/apps/:guid/processes";

type ListQuery = z.output<typeof appProcessListQuery> &
  Pick<z.output<typeof processListQuery>, "app_guids" | "space_guids" | "organization_guids">;
interface ListRequest {
  session: Session;
  query: ListQuery;
  base: string;
  url: string;
}

function listReply(request: ListRequest, app?: App): Reply {
  const { session, query, base, url } = request;
  const { guids, ...others } = query;
  const namespaces = spaceNamespaces(session, query);
  const within = app ? { index: ["app", appKey(app)] as const } : namespaces && { namespaces };
  const found = listObjects(session, Process, others, {
    url,
    ...(within && { scope: within }),
    // A web process has its app's GUID, which the general `guids` filter does not handle.
    filter: (process) =>
      isOneOf(query.types, process.spec.type) &&
      (!guids || guids.includes(processGUID(session.cache, process))) &&
      (!query.app_guids || query.app_guids.includes(appGUIDOf(session.cache, process))),
    ...(app && { defaultSortKey: (process) => `${process.spec.type === "web" ? 0 : 1} ${creationSortKey(process)}` }),
    dependsOn: [App, Space, Revision, Rollout],
    filterReads: guids || query.app_guids ? [App] : [],
  });
  const shown = withRolloutProcesses(session.cache, found);
  return ok(
    presentPage(shown, { base, url, query, ...cachingOf(request) }, (process) => ({
      ...presentProcess(session.cache, process, base, "list"),
      ...(query.embed && embedded(session, process)),
    })),
  );
}

/** Embedded instances include an uptime, so their page changes every second. */
function cachingOf({ session, query, base }: ListRequest): Partial<PageRequest<Process>> {
  if (query.embed) return {};
  return { isCacheable: true, textKey: (process) => processTextKey(session.cache, process, base) };
}

function embedded(session: Session, process: Process): { process_instances: object[] } {
  const now = session.now().getTime();
  return {
    process_instances: instancesOf(session.cache, process).map((one) => ({
      index: one.index,
      state: one.cfState,
      since: Math.max(0, Math.floor((now - (one.since ? Date.parse(one.since) : now)) / 1000)),
    })),
  };
}

function present(session: Session, process: Process, base: string): object {
  return presentProcess(session.cache, process, base, commandView(session, process));
}

/** Before the process is looked at closer: who may not change it learns nothing of its state. @throws CFError 403 */
function requireWritable(session: Session, { metadata }: Process, permission: RequiredPermission): void {
  session.authorize({ ...permission, namespace: metadata.namespace ?? "", name: metadata.name });
  requireNotSuspended(session, metadata.namespace);
}

async function update(session: Session, process: Process, body: z.output<typeof updateProcessBody>): Promise<Process> {
  requireWritable(session, process, { verb: "patch", on: Process });
  requireSettled(session, process, "Cannot update this process while a deployment is in flight.");
  return session.patch(Process, process, {
    type: "merge",
    body: { metadata: toMetadataPatch(body.metadata, process), spec: toProcessSpec(body, process) },
  });
}

/** @throws CFError 422 for a web process that a deployment replaces */
function requireSettled({ cache }: Session, process: Process, text: string): void {
  if (process.spec.type === "web") requireNoDeployment(cache, appOf(cache, process), text);
}

async function scale(session: Session, process: Process, body: z.output<typeof scaleBody>): Promise<Process> {
  requireWritable(session, process, scaleRight);
  // Also for a scaling that changes nothing, which no admission policy sees.
  requireFlag(session, "app_scaling");
  requireSettled(session, process, "Cannot scale this process while a deployment is in flight.");
  requireAttached(session, appOf(session.cache, process));
  const spec = toScaleSpec(body);
  const app = appOf(session.cache, process);
  const { memoryMB } = spec;
  if (app && typeof memoryMB === "number" && !leavesRoom(sidecarsOf(session.cache, app), process.spec.type, memoryMB))
    throw unprocessable("The requested memory allocation is not large enough to run all of your sidecar processes");
  requireChangeQuota(session, { app, before: process, after: { ...process, spec: { ...process.spec, ...spec } } });
  return session.patch(Process, process, { type: "merge", body: { spec } });
}

async function restartInstance(session: Session, process: Process, index: string): Promise<Reply> {
  requireWritable(session, process, scaleRight);
  requireAttached(session, appOf(session.cache, process));
  const number = /^\d{1,5}$/.test(index) ? Number(index) : -1;
  if (number < 0 || number >= wantedInstances(process)) throw new CFError("ResourceNotFound", "Instance");
  await session.patch(Process, process, { type: "merge", body: restartInstancePatch(number, newGUID()) });
  return noContent();
}

const lists: readonly Endpoint[] = [
  endpoint({
    method: "GET",
    path: "/v3/processes",
    permission: "authenticated",
    lists: [Process],
    query: processListQuery,
    summary: "List processes",
    handler: (request) => listReply(request),
  }),
  endpoint({
    method: "GET",
    path: byApp,
    permission: read,
    query: appProcessListQuery,
    summary: "List processes of an app",
    handler: (request) => listReply(request, request.session.get(App, request.params.guid)),
  }),
];

/** Finds a process by its GUID, or by its app and type. */
type FindProcess = (session: Session, params: { guid: string; type: string }) => Process;
type ProcessPath = "/v3/processes/:guid" | `${typeof byApp}/:type`;
const lookups: readonly { path: ProcessPath; find: FindProcess }[] = [
  { path: "/v3/processes/:guid", find: (session, { guid }) => getProcess(session, guid) },
  {
    path: `${byApp}/:type`,
    find: (session, { guid, type }) => getProcessOfType(session, session.get(App, guid), type),
  },
];

/** Endpoints of processes; stats come from the runners. */
export function processEndpoints(services: Services): readonly Endpoint[] {
  return [
    ...lists,
    ...lookups.flatMap(({ path, find }) => [
      ...objectRows(path, find),
      ...scaleRows(path, find),
      ...instanceRows(path, find, services),
    ]),
  ];
}

function objectRows(path: ProcessPath, find: FindProcess): Endpoint[] {
  return [
    endpoint({
      method: "GET",
      path,
      permission: read,
      asks: [APP_SECRETS],
      query: processGetQuery,
      summary: "Get a process",
      handler: async ({ session, params, query, base }) => {
        // Right after a start, the controller has not created the revision yet.
        await session.holdWhile([App, Process, Revision], () => isUnreconciled(session, find(session, params)));
        const process = find(session, params);
        return ok({ ...present(session, process, base), ...(query.embed && embedded(session, process)) });
      },
    }),
    endpoint({
      method: "PATCH",
      path,
      permission: { verb: "patch", on: Process },
      asks: [APP_SECRETS],
      body: updateProcessBody,
      summary: "Update a process",
      handler: async ({ session, params, body, base }) =>
        ok(present(session, await update(session, find(session, params), body), base)),
    }),
  ];
}

function scaleRows(path: ProcessPath, find: FindProcess): Endpoint[] {
  return [
    endpoint({
      method: "POST",
      path: `${path}/actions/scale`,
      permission: scaleRight,
      asks: [{ verb: "patch", on: Process }, APP_SECRETS],
      body: scaleBody,
      summary: "Scale a process",
      handler: async ({ session, params, body, base }) => ({
        status: 202,
        body: present(session, await scale(session, find(session, params), body), base),
      }),
    }),
    endpoint({
      method: "DELETE",
      path: `${path}/instances/:index`,
      permission: { verb: "patch", on: Process },
      asks: [scaleRight],
      summary: "Restart an instance",
      handler: ({ session, params }) => restartInstance(session, find(session, params), params.index),
    }),
  ];
}

/** Whether no controller has observed the latest start of the process's app yet. */
function isUnreconciled({ cache }: Session, process: Process): boolean {
  const app = appOf(cache, process);
  return app?.spec.state === "Started" && (app.status?.observedGeneration ?? 0) < (app.metadata.generation ?? 0);
}

/** `cf` polls stats while it waits for a start, so its request is held until the first instance runs or crashes. */
async function holdWhileStarting(session: Session, find: () => Process, polls: StartPolls): Promise<void> {
  const { cache } = session;
  const process = find();
  const changes = [process, appOf(cache, process)].map((object) => (object ? Date.parse(updatedAt(object)) : 0));
  const uid = process.metadata.uid ?? "";
  if (polls.isWait(uid, Math.max(...changes), Date.now()))
    await session.holdWhile([App, Process, LRP, PlacementDecision, Revision, Rollout], () => isStarting(cache, find()));
  if (isStarting(cache, find())) polls.answered(uid, Date.now());
}

function instanceRows(path: ProcessPath, find: FindProcess, services: Services): Endpoint[] {
  const polls = createStartPolls();
  return [
    endpoint({
      method: "GET",
      path: `${path}/stats`,
      permission: read,
      summary: "Get statistics of instances",
      handler: async ({ session, params, warn }) => {
        await holdWhileStarting(session, () => find(session, params), polls);
        const seen = { now: session.now(), warn };
        return ok({ resources: await presentStats(session.cache, services, find(session, params), seen) });
      },
    }),
    endpoint({
      method: "GET",
      path: `${path}/process_instances`,
      permission: read,
      summary: "List instances and their states",
      handler: ({ session, params, base }) => {
        const process = find(session, params);
        const self = `${base}/v3/processes/${processGUID(session.cache, process)}`;
        return ok({
          resources: embedded(session, process).process_instances,
          links: { self: link(`${self}/process_instances`), process: link(self) },
        });
      },
    }),
  ];
}
