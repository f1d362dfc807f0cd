// The HTTP face of App: `/v3/apps`. Verbs are in actions.ts, environment in environment.ts.
import { App } from "../../crds/app/app.ts";
import { displayNameOf, foldName } from "../../crds/object-names.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { Route } from "../../crds/route/route.ts";
import { Space } from "../../crds/space/space.ts";
import { Stack } from "../../crds/stack/stack.ts";
import { unprocessable } from "../http/errors.ts";
import { accepted, created, endpoint, ok, type Endpoint } from "../http/endpoint.ts";
import { includedSpaces } from "../http/included.ts";
import { newJob } from "../jobs/jobs.ts";
import { appKey, createOrPatchProcess } from "../cf/app-children.ts";
import { writeVariables } from "../cf/app-env.ts";
import { stackOf } from "../cf/lifecycle.ts";
import { unmapApp } from "../cf/unmap-app.ts";
import { toApp } from "../cf/new-app.ts";
import { listObjects, isOneOf } from "../cache/list-objects.ts";
import { presentPage } from "../http/page.ts";
import { resolveSpace, spaceNamespaces } from "../cf/scopes.ts";
import type { Session } from "../access/session.ts";
import { appActions } from "./actions.ts";
import { appEnvironment } from "./environment.ts";
import { appGetQuery, appListQuery, appNameTaken, createAppBody, toAppPatch, updateAppBody } from "./payload.ts";
import { presentApp } from "./present.ts";

const path = "/v3/apps/:guid";

const list = endpoint(
  "GET",
  "/v3/apps",
  { permission: "authenticated", query: appListQuery, summary: "List apps" },
  ({ as, query, base, url }) => {
    const names = query.names?.map(foldName);
    const namespaces = spaceNamespaces(as, query);
    const apps = listObjects(as, App, query, {
      url,
      ...(namespaces && { scope: { namespaces } }),
      filter: (app) =>
        isOneOf(names, foldName(displayNameOf(app))) &&
        isOneOf(query.stacks, stackOf(as.cache, app)) &&
        isOneOf(query.lifecycle_type && [query.lifecycle_type], app.spec.lifecycle.type),
      sortKeys: { name: displayNameOf, state: (app) => app.spec.state },
      dependsOn: [Space, Droplet, Stack],
    });
    return ok(
      presentPage(
        apps,
        { base, url, query, changeCount: as.cache.changeCount() },
        (app) => presentApp(as.cache, app, base),
        included(as, base, query.include),
      ),
    );
  },
);

function included(
  as: Session,
  base: string,
  include: readonly string[] | undefined,
): ((page: readonly App[]) => object) | undefined {
  if (!include) return undefined;
  const withOrgs = include.some((what) => what !== "space");
  return (page) =>
    includedSpaces(
      as,
      base,
      page.map((app) => app.metadata.namespace),
      withOrgs,
    );
}

const get = endpoint(
  "GET",
  path,
  { permission: { verb: "get", on: App }, query: appGetQuery, summary: "Get an app" },
  ({ as, params, query, base }) => {
    const app = as.get(App, params["guid"] ?? "");
    const text = presentApp(as.cache, app, base);
    const more = included(as, base, query.include);
    return ok(more ? { ...(JSON.parse(text) as object), included: more([app]) } : text);
  },
);

const create = endpoint(
  "POST",
  "/v3/apps",
  { permission: { verb: "create", on: App }, body: createAppBody, summary: "Create an app" },
  async ({ as, body, base }) => {
    const { namespace } = resolveSpace(as, body.relationships.space.data.guid);
    const made = await as.create(
      App,
      toApp(as.cache, namespace, {
        name: body.name,
        ...(body.lifecycle && { lifecycle: body.lifecycle }),
        ...(body.metadata && { metadata: body.metadata }),
      }),
      appNameTaken(body.name),
    );
    // An app has its web process from the start; a controller may have been quicker.
    await createOrPatchProcess(as, made, "web", {});
    const app = body.environment_variables ? await writeVariables(as, made, body.environment_variables) : made;
    return created(presentApp(as.cache, app, base));
  },
);

const update = endpoint(
  "PATCH",
  path,
  {
    permission: [
      { verb: "patch", on: App },
      { verb: "update", on: App, subresource: "settings" },
    ],
    body: updateAppBody,
    summary: "Update an app",
  },
  async ({ as, params, body, base }) => {
    const app = as.get(App, params["guid"] ?? "");
    const patch = toAppPatch(as.cache, app, body);
    const { name } = body;
    // A create's loser gets UniquenessError, a rename's the ordinary one: CF's own difference.
    const renamed =
      name === undefined
        ? undefined
        : { to: { ...app, spec: { ...app.spec, name } }, taken: () => unprocessable(appNameTaken(name)().message) };
    return ok(presentApp(as.cache, await as.patch(App, app, { type: "merge", body: patch }, renamed), base));
  },
);

const remove = endpoint(
  "DELETE",
  path,
  { permission: { verb: "delete", on: App }, summary: "Delete an app and all that belongs to it" },
  async ({ as, params }) => {
    const app = as.get(App, params["guid"] ?? "");
    await unmap(as, app);
    await as.delete(App, app);
    return accepted(newJob("app.delete", as.cache.guid(App, app), as.now()));
  },
);

/** CF's rule: the app's destinations go with it, its routes stay. */
async function unmap(as: Session, app: App): Promise<void> {
  for (const route of as.list(Route, { index: ["app", appKey(app)] })) await unmapApp(as, route, app);
}

export const appEndpoints: readonly Endpoint[] = [list, get, create, update, remove, ...appActions, ...appEnvironment];
