// The HTTP face of Process: `/v3/processes`, and the processes of an app.
import { App } from "../../crds/app/app.ts";
import { creationSortKey } from "../../crds/guid.ts";
import { Process } from "../../crds/process/process.ts";
import { restartInstancePatch } from "../../crds/command-patches.ts";
import { newGUID } from "../../crds/guid.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { endpoint, noContent, ok, type Endpoint, type Reply } from "../http/endpoint.ts";
import { CFError } from "../http/errors.ts";
import { appGUIDOf, appKey, getProcess, getProcessOfType, processGUID } from "../cf/app-children.ts";
import { listObjects, isOneOf } from "../cache/list-objects.ts";
import { toMetadataPatch } from "../cf/metadata.ts";
import { presentPage } from "../http/page.ts";
import { spaceNamespaces } from "../cf/scopes.ts";
import type { Services } from "../services.ts";
import type { Session } from "../access/session.ts";
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
import { commandView, instancesOf, presentProcess, wantedInstances } from "./present.ts";
import { presentStats } from "./stats.ts";

const read = { verb: "get", on: Process } as const;
const scaleRight = { verb: "update", on: Process, subresource: "scale" } as const;
const byApp = "/v3/apps/:guid/processes";

type ListQuery = z.output<typeof appProcessListQuery> &
  Pick<z.output<typeof processListQuery>, "app_guids" | "space_guids" | "organization_guids">;
interface ListRequest {
  as: Session;
  query: ListQuery;
  base: string;
  url: string;
}

function listReply({ as, query, base, url }: ListRequest, app?: App): Reply {
  const { guids, ...others } = query;
  const namespaces = spaceNamespaces(as, query);
  const within = app ? { index: ["app", appKey(app)] as const } : namespaces && { namespaces };
  const found = listObjects(as, Process, others, {
    url,
    ...(within && { scope: within }),
    // The GUID of a web process is its app's, which the general filter does not know.
    filter: (process) =>
      isOneOf(query.types, process.spec.type) &&
      isOneOf(guids, processGUID(as.cache, process)) &&
      isOneOf(query.app_guids, appGUIDOf(as.cache, process)),
    defaultSortKey: (process) => `${process.spec.type === "web" && app ? 0 : 1} ${creationSortKey(process)}`,
    dependsOn: [App, LRP],
  });
  return ok(
    presentPage(found, { base, url, query }, (process) => ({
      ...presentProcess(as.cache, process, base, "list"),
      ...(query.embed && embedded(as, process)),
    })),
  );
}

function embedded(as: Session, process: Process): object {
  const now = as.now().getTime();
  return {
    process_instances: instancesOf(as.cache, process).map((one) => ({
      index: one.index,
      state: one.cfState,
      since: Math.max(0, Math.floor((now - (one.since ? Date.parse(one.since) : now)) / 1000)),
    })),
  };
}

function present(as: Session, process: Process, base: string): object {
  return presentProcess(as.cache, process, base, commandView(as, process));
}

async function update(as: Session, process: Process, body: z.output<typeof updateProcessBody>): Promise<Process> {
  return as.patch(Process, process, {
    type: "merge",
    body: { metadata: toMetadataPatch(body.metadata, process), spec: toProcessSpec(body, process) },
  });
}

async function scale(as: Session, process: Process, body: z.output<typeof scaleBody>): Promise<Process> {
  return as.patch(Process, process, { type: "merge", body: { spec: toScaleSpec(body) } });
}

async function restartInstance(as: Session, process: Process, index: string): Promise<Reply> {
  const number = /^\d{1,5}$/.test(index) ? Number(index) : -1;
  if (number < 0 || number >= wantedInstances(process)) throw new CFError("ResourceNotFound", "Instance");
  await as.patch(Process, process, { type: "merge", body: restartInstancePatch(number, newGUID()) });
  return noContent();
}

const lists: readonly Endpoint[] = [
  endpoint(
    "GET",
    "/v3/processes",
    { permission: "authenticated", query: processListQuery, summary: "List processes" },
    (request) => listReply(request),
  ),
  endpoint(
    "GET",
    byApp,
    { permission: read, query: appProcessListQuery, summary: "List processes of an app" },
    (request) => listReply(request, request.as.get(App, request.params["guid"] ?? "")),
  ),
];

/** One process, found by its own GUID, or by its app and type. */
const lookups = [
  {
    path: "/v3/processes/:guid",
    find: (as: Session, params: Record<string, string>) => getProcess(as, params["guid"] ?? ""),
  },
  {
    path: `${byApp}/:type`,
    find: (as: Session, params: Record<string, string>) =>
      getProcessOfType(as, as.get(App, params["guid"] ?? ""), params["type"] ?? ""),
  },
];

/** Rows of processes; stats come from the runners. */
export function processEndpoints({ telemetry }: Services): readonly Endpoint[] {
  return [...lists, ...lookups.flatMap(({ path, find }) => rowsOf(path, find, telemetry))];
}

function rowsOf(
  path: string,
  find: (as: Session, params: Record<string, string>) => Process,
  telemetry: Services["telemetry"],
): Endpoint[] {
  return [
    endpoint(
      "GET",
      path,
      { permission: read, query: processGetQuery, summary: "Get a process" },
      ({ as, params, query, base }) => {
        const process = find(as, params);
        return ok({ ...present(as, process, base), ...(query.embed && embedded(as, process)) });
      },
    ),
    endpoint(
      "PATCH",
      path,
      { permission: { verb: "patch", on: Process }, body: updateProcessBody, summary: "Update a process" },
      async ({ as, params, body, base }) => ok(present(as, await update(as, find(as, params), body), base)),
    ),
    endpoint(
      "POST",
      `${path}/actions/scale`,
      { permission: scaleRight, body: scaleBody, summary: "Scale a process" },
      async ({ as, params, body, base }) => ({
        status: 202,
        body: present(as, await scale(as, find(as, params), body), base),
      }),
    ),
    endpoint(
      "GET",
      `${path}/stats`,
      { permission: read, summary: "Instances and what they use" },
      async ({ as, params }) => ok({ resources: await presentStats(as.cache, telemetry, find(as, params), as.now()) }),
    ),
    endpoint(
      "GET",
      `${path}/process_instances`,
      { permission: read, summary: "Instances and their states" },
      ({ as, params }) =>
        ok({ resources: (embedded(as, find(as, params)) as { process_instances: object[] }).process_instances }),
    ),
    endpoint(
      "DELETE",
      `${path}/instances/:index`,
      { permission: { verb: "patch", on: Process }, summary: "Restart an instance" },
      ({ as, params }) => restartInstance(as, find(as, params), params["index"] ?? ""),
    ),
    endpoint(
      "GET",
      `${path}/sidecars`,
      { permission: read, isAlwaysEmpty: true, summary: "Sidecars of a process: none exist here yet" },
      ({ as, params, base, url }) => {
        find(as, params);
        return ok(presentPage([], { base, url, query: { page: 1, per_page: 50 } }, () => ({})));
      },
    ),
  ];
}
