// Endpoints of App: `/v3/apps`. Actions are in actions.ts, the environment in environment.ts.
import type { z } from "zod";
import { App } from "../../crds/app/app.ts";
import { Build } from "../../crds/build/build.ts";
import { foldName, sortKeyOfName } from "../../crds/object-names.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { Org } from "../../crds/org/org.ts";
import { OrgQuota } from "../../crds/org-quota/org-quota.ts";
import { Route } from "../../crds/route/route.ts";
import { SpaceQuota } from "../../crds/space-quota/space-quota.ts";
import { Space } from "../../crds/space/space.ts";
import { Stack } from "../../crds/stack/stack.ts";
import { unprocessable } from "../http/errors.ts";
import { accepted, created, endpoint, ok, type Endpoint, type Reply } from "../routing/endpoint.ts";
import type { Services } from "../routing/services.ts";
import { includedSpaces } from "../included/included.ts";
import { newDeletionJob } from "../jobs/jobs.ts";
import { appKey } from "../cf/app/owner-app.ts";
import { createOrPatchProcess } from "../cf/process/create-process.ts";
import { writeVariables } from "../cf/app/app-env.ts";
import { checkNewAppsStack, checkStackState, stackOf, type ChangedLifecycle } from "../cf/app/lifecycle.ts";
import type { StackUse } from "../cf/stack/stack-state.ts";
import { unmapApp } from "../cf/route/unmap-app.ts";
import { toApp } from "../cf/app/new-app.ts";
import { listObjects, isOneOf } from "../lists/list-objects.ts";
import { presentPage } from "../lists/page.ts";
import { resolveSpace, spaceNamespaces } from "../cf/org/org-and-space-namespaces.ts";
import { writeAllOrNone } from "../access/rehearsal.ts";
import type { Session } from "../access/session.ts";
import { appActions } from "./actions.ts";
import { appEnvironment } from "./environment.ts";
import { appSSHEndpoints } from "./ssh.ts";
import { appGetQuery, appListQuery, appNameTaken, createAppBody, toAppPatch, updateAppBody } from "./payload.ts";
import { appTextKey, presentApp } from "./present.ts";
import { Process } from "../../crds/process/process.ts";

const path = "/v3/apps/:guid";

interface ListRequest {
  session: Session;
  query: z.output<typeof appListQuery>;
  base: string;
  url: string;
}

function listReply({ session, query, base, url }: ListRequest): Reply {
  const names = query.names?.map(foldName);
  const namespaces = spaceNamespaces(session, query);
  const apps = listObjects(session, App, query, {
    url,
    ...(namespaces && { scope: { namespaces } }),
    ...((names ?? query.stacks ?? query.lifecycle_type) && {
      filter: (app) =>
        (!names || names.includes(sortKeyOfName(app))) &&
        (!query.stacks || query.stacks.includes(stackOf(session.cache, app))) &&
        isOneOf(query.lifecycle_type && [query.lifecycle_type], app.spec.lifecycle.type),
    }),
    sortKeys: { name: sortKeyOfName, state: (app) => app.spec.state },
    dependsOn: [Space, Droplet, Stack, ...(query.include ? [Org, OrgQuota, SpaceQuota] : [])],
    filterReads: query.stacks ? [Stack] : [],
    ...(names && { lookUp: ["cfName", names] }),
  });
  return ok(
    presentPage(
      apps,
      { base, url, query, isCacheable: true, textKey: (app) => appTextKey(session.cache, app, base) },
      (app) => presentApp(session.cache, app, base),
      included(session, base, query.include),
    ),
  );
}

const list = endpoint({
  method: "GET",
  path: "/v3/apps",
  permission: "authenticated",
  lists: [App],
  query: appListQuery,
  summary: "List apps",
  handler: (request) => listReply(request),
});

const listOfStack = endpoint({
  method: "GET",
  path: "/v3/stacks/:guid/apps",
  permission: { verb: "get", on: Stack },
  lists: [App],
  query: appListQuery,
  summary: "List the apps of a stack",
  // As in CF, nothing is included.
  handler: ({ session, params, query: { include: _include, ...query }, base, url }) => {
    const { name } = session.get(Stack, params.guid).spec;
    return listReply({ session, base, url, query: { ...query, stacks: [name] } });
  },
});

function included(
  session: Session,
  base: string,
  include: readonly string[] | undefined,
): ((page: readonly App[]) => object) | undefined {
  if (!include) return undefined;
  const withOrgs = include.some((what) => what !== "space");
  return (page) =>
    includedSpaces(
      session,
      base,
      page.map((app) => app.metadata.namespace),
      withOrgs,
    );
}

const get = endpoint({
  method: "GET",
  path,
  permission: { verb: "get", on: App },
  query: appGetQuery,
  summary: "Get an app",
  handler: ({ session, params, query, base }) => {
    const app = session.get(App, params.guid);
    const presented = presentApp(session.cache, app, base);
    const more = included(session, base, query.include);
    return ok(more ? { ...presented, included: more([app]) } : presented);
  },
});

async function createApp(session: Session, namespace: string, body: z.output<typeof createAppBody>): Promise<App> {
  const app = await session.create(
    App,
    toApp(session.cache, namespace, {
      name: body.name,
      ...(body.lifecycle && { lifecycle: body.lifecycle }),
      ...(body.metadata && { metadata: body.metadata }),
    }),
    appNameTaken(body.name),
  );
  // Every new app has a web process; a controller may have created it already.
  await createOrPatchProcess(session, app, "web", {});
  return body.environment_variables ? await writeVariables(session, app, body.environment_variables) : app;
}

const create = endpoint({
  method: "POST",
  path: "/v3/apps",
  permission: { verb: "create", on: App },
  asks: [
    { verb: "update", on: App, subresource: "env" },
    { verb: "patch", on: App },
    { verb: "create", on: Process },
    { verb: "patch", on: Process },
  ],
  body: createAppBody,
  summary: "Create an app",
  handler: async ({ session, body, base, warn }) => {
    checkNewAppsStack(session.cache, body.lifecycle, warn);
    const { namespace } = resolveSpace(session, body.relationships.space.data.guid);
    const app = await writeAllOrNone(session, [App, Process], (writer) => createApp(writer, namespace, body));
    return created(presentApp(session.cache, app, base));
  },
});

const update = endpoint({
  method: "PATCH",
  path,
  permission: [
    { verb: "patch", on: App },
    { verb: "update", on: App, subresource: "settings" },
  ],
  body: updateAppBody,
  summary: "Update an app",
  handler: async ({ session, params, body, base, warn }) => {
    const app = session.get(App, params.guid);
    checkNamedStack(session, body.lifecycle, { use: wasBuilt(session, app) ? "restage" : "new", warn });
    const patch = toAppPatch(session.cache, app, body);
    const { name } = body;
    // As in CF, a name conflict is UniquenessError on create but UnprocessableEntity on rename.
    const renamed =
      name === undefined
        ? undefined
        : { to: { ...app, spec: { ...app.spec, name } }, taken: () => unprocessable(appNameTaken(name)().message) };
    return ok(presentApp(session.cache, await session.patch(App, app, { type: "merge", body: patch }, renamed), base));
  },
});

const remove = endpoint({
  method: "DELETE",
  path,
  permission: { verb: "delete", on: App },
  asks: [{ verb: "patch", on: Route }],
  summary: "Delete an app and all that belongs to it",
  handler: async ({ session, params }) => {
    const app = session.get(App, params.guid);
    await unmap(session, app);
    await session.delete(App, app);
    return accepted(await newDeletionJob(session, App, session.cache.guid(App, app)));
  },
});

/** Judges the stack that a change names. */
function checkNamedStack(
  { cache }: Session,
  lifecycle: ChangedLifecycle | undefined,
  { use, warn }: { use: StackUse; warn: (text: string) => void },
): void {
  const named = lifecycle?.type === "docker" ? undefined : lifecycle?.data.stack;
  if (named) checkStackState(cache, { name: named, use, warn });
}

function wasBuilt(session: Session, app: App): boolean {
  return session.cache.store(Build).byIndex("app", appKey(app)).length > 0;
}

/** As in CF, deleting an app removes its destinations but keeps the routes. */
async function unmap(session: Session, app: App): Promise<void> {
  for (const route of session.list(Route, { index: ["app", appKey(app)] })) await unmapApp(session, route, app);
}

export const appEndpoints = (services: Pick<Services, "ssh">): readonly Endpoint[] => [
  list,
  listOfStack,
  get,
  create,
  update,
  remove,
  ...appActions,
  ...appEnvironment,
  ...appSSHEndpoints(services),
];
