// Endpoints of Task: `/v3/tasks`, and the tasks of an app.
import type { z } from "zod";
import { App } from "../../crds/app/app.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { displayNameOf, foldName } from "../../crds/object-names.ts";
import { sequenceOf } from "../../crds/task/sequence.ts";
import { Task } from "../../crds/task/task.ts";
import { requireNotSuspended } from "../access/suspension.ts";
import type { Session } from "../access/session.ts";
import { isOneOf, listObjects } from "../lists/list-objects.ts";
import { appGUIDOf, appKey } from "../cf/app/owner-app.ts";
import { requireFlag } from "../cf/feature-flags.ts";
import { toMetadataPatch } from "../http/metadata.ts";
import { spaceNamespaces } from "../cf/org/org-and-space-namespaces.ts";
import { endpoint, ok, type Endpoint, type Reply } from "../routing/endpoint.ts";
import { unprocessable } from "../http/errors.ts";
import { presentPage } from "../lists/page.ts";
import { metadataOnlySchema } from "../http/shared-schemas.ts";
import { createTask } from "./create.ts";
import { appTaskListQuery, createTaskBody, taskListQuery } from "./payload.ts";
import { canReadCommands, presentTask, taskState, taskTextKey } from "./present.ts";
import { APP_SECRETS } from "../cf/app/app-secrets.ts";

const path = "/v3/tasks/:guid";
const byApp = "/v3/apps/:guid/tasks";
/** A GET of a younger task is held while it is under way: `cf run-task --wait` polls. */
const HOLD_MAX_AGE_MS = 60_000;

interface ListRequest {
  session: Session;
  query: Omit<z.output<typeof taskListQuery>, "sequence_ids"> & { sequence_ids?: number[] | undefined };
  base: string;
  url: string;
}

function listReply({ session, query, base, url }: ListRequest, app?: App): Reply {
  const namespaces = spaceNamespaces(session, query);
  const within = app ? { index: ["app", appKey(app)] as const } : namespaces && { namespaces };
  const names = query.names?.map(foldName);
  const found = listObjects(session, Task, query, {
    url,
    ...(within && { scope: within }),
    filter: (task) =>
      isOneOf(names, foldName(displayNameOf(task))) &&
      isOneOf(query.states, taskState(task)) &&
      (!query.sequence_ids || query.sequence_ids.includes(sequenceOf(task) ?? 0)) &&
      (!query.app_guids || query.app_guids.includes(appGUIDOf(session.cache, task))),
    dependsOn: [App, Droplet],
    filterReads: query.app_guids ? [App] : [],
  });
  // As in CF, commands are shown below an app only.
  const withCommand = (task: Task): boolean => app !== undefined && canReadCommands(session, appKeyOf(task));
  return ok(
    presentPage(
      found,
      {
        base,
        url,
        query,
        isCacheable: true,
        textKey: (task) => taskTextKey(session.cache, task, base, withCommand(task)),
      },
      (task) => presentTask(session.cache, task, base, withCommand(task)),
    ),
  );
}

function appKeyOf({ metadata, spec }: Task): { namespace: string; name: string } {
  return { namespace: metadata.namespace ?? "", name: spec.appRef.name };
}

function present(session: Session, task: Task, base: string): object {
  return presentTask(session.cache, task, base, canReadCommands(session, appKeyOf(task)));
}

function isUnderWay(task: Task, now: Date): boolean {
  const age = now.getTime() - Date.parse(task.metadata.creationTimestamp ?? now.toISOString());
  return age < HOLD_MAX_AGE_MS && ["PENDING", "RUNNING", "CANCELING"].includes(taskState(task));
}

async function cancel(session: Session, guid: string, base: string): Promise<Reply> {
  const task = session.get(Task, guid);
  const state = taskState(task);
  if (state === "SUCCEEDED" || state === "FAILED")
    throw unprocessable(`Task state is ${state} and therefore cannot be canceled`);
  const after = task.spec.cancelled
    ? task
    : await session.patch(Task, task, { type: "merge", body: { spec: { cancelled: true } } });
  return { status: 202, body: present(session, after, base) };
}

/** `PUT /cancel` is what stock cf sends; `POST /actions/cancel` replaced it. */
const cancelEndpoints = (
  [
    ["POST", `${path}/actions/cancel`],
    ["POST", `${path}/cancel`],
    ["PUT", `${path}/cancel`],
  ] as const
).map(([method, at]) =>
  endpoint({
    method,
    path: at,
    permission: { verb: "update", on: Task, subresource: "cancel" },
    asks: [{ verb: "patch", on: Task }, APP_SECRETS],
    summary: "Cancel a task",
    handler: ({ session, params, base }) => cancel(session, params.guid, base),
  }),
);

export const taskEndpoints: readonly Endpoint[] = [
  endpoint({
    method: "GET",
    path: "/v3/tasks",
    permission: "authenticated",
    lists: [Task],
    query: taskListQuery,
    summary: "List tasks",
    handler: (request) => listReply(request),
  }),
  endpoint({
    method: "GET",
    path: byApp,
    permission: { verb: "get", on: Task },
    asks: [APP_SECRETS],
    query: appTaskListQuery,
    summary: "List tasks of an app",
    handler: (request) => listReply(request, request.session.get(App, request.params.guid)),
  }),
  endpoint({
    method: "POST",
    path: byApp,
    permission: { verb: "create", on: Task },
    asks: [APP_SECRETS],
    body: createTaskBody,
    summary: "Run a task",
    handler: async ({ session, params, body, base }) => {
      requireFlag(session, "task_creation");
      const app = session.get(App, params.guid);
      // Before anything about its droplet or a quota is said.
      session.authorize({ verb: "create", on: Task, namespace: app.metadata.namespace ?? "" });
      requireNotSuspended(session, app.metadata.namespace);
      const task = await createTask(session, app, body);
      return { status: 202, body: present(session, task, base) };
    },
  }),
  endpoint({
    method: "GET",
    path,
    permission: { verb: "get", on: Task },
    asks: [APP_SECRETS],
    summary: "Get a task",
    handler: async ({ session, params, base }) => {
      const task = (): Task => session.get(Task, params.guid);
      await session.holdWhile([Task], () => isUnderWay(task(), session.now()));
      return ok(present(session, task(), base));
    },
  }),
  endpoint({
    method: "PATCH",
    path,
    permission: { verb: "update", on: Task, subresource: "settings" },
    asks: [{ verb: "patch", on: Task }, APP_SECRETS],
    body: metadataOnlySchema,
    summary: "Update a task's metadata",
    handler: async ({ session, params, body, base }) => {
      const task = session.get(Task, params.guid);
      const metadata = toMetadataPatch(body.metadata, task);
      return ok(present(session, await session.patch(Task, task, { type: "merge", body: { metadata } }), base));
    },
  }),
  ...cancelEndpoints,
];
