// An app's environment, features and the caller's permissions on it.
import { App } from "../../crds/app/app.ts";
import { vcapApplication } from "../../crds/app/vcap.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import { Org } from "../../crds/org/org.ts";
import { Route } from "../../crds/route/route.ts";
import { Space } from "../../crds/space/space.ts";
import { endpoint, ok } from "../routing/endpoint.ts";
import { appKey } from "../cf/app/owner-app.ts";
import { readVariables, writeVariables } from "../cf/app/app-env.ts";
import { variablesOfGroup } from "../cf/app/environment-groups.ts";
import { readSystemEnv } from "../cf/service/bindings.ts";
import { requireVisibleVariables } from "../cf/feature-flags.ts";
import { toFeaturesPatch, presentFeature, presentFeatures } from "../cf/app/app-features.ts";
import { link } from "../http/presentation.ts";
import { routeURLOf } from "../cf/route/route-url.ts";
import type { Session } from "../access/session.ts";
import { featureBody, setVariablesBody } from "./payload.ts";
import { APP_SECRETS } from "../cf/app/app-secrets.ts";
import { BEING_ADMIN } from "../access/is-admin.ts";

const path = "/v3/apps/:guid";
const readEnv = { verb: "get", on: App, subresource: "env" } as const;

function presentVariables(variables: Record<string, string>, base: string, guid: string): object {
  return {
    var: variables,
    links: { self: link(`${base}/v3/apps/${guid}/environment_variables`), app: link(`${base}/v3/apps/${guid}`) },
  };
}

const env = endpoint({
  method: "GET",
  path: `${path}/env`,
  permission: readEnv,
  asks: [BEING_ADMIN, APP_SECRETS],
  summary: "Get all environment variables of an app",
  handler: async ({ session, params, base }) => {
    const app = session.get(App, params.guid);
    requireVisibleVariables(session);
    const variables = await readVariables(session, app);
    session.recordAppEvent("environment.show", app);
    return ok({
      staging_env_json: variablesOfGroup(session.cache, "staging"),
      running_env_json: variablesOfGroup(session.cache, "running"),
      environment_variables: variables,
      system_env_json: await readSystemEnv(session, app),
      application_env_json: { VCAP_APPLICATION: application(session, app, base) },
    });
  },
});

function application(session: Session, app: App, base: string): object {
  const { cache } = session;
  const space = cache.spaceOf(app.metadata.namespace);
  const org = cache.orgOf(space?.metadata.namespace);
  return vcapApplication({
    apiURL: base,
    app: { guid: cache.guid(App, app), name: displayNameOf(app) },
    space: { guid: space ? cache.guid(Space, space) : "", name: space ? displayNameOf(space) : "" },
    org: { guid: org ? cache.guid(Org, org) : "", name: org ? displayNameOf(org) : "" },
    uris: session.list(Route, { index: ["app", appKey(app)] }).map((route) => routeURLOf(cache, route)),
  });
}

const getVariables = endpoint({
  method: "GET",
  path: `${path}/environment_variables`,
  permission: readEnv,
  asks: [BEING_ADMIN, APP_SECRETS],
  summary: "Get the user-provided variables of an app",
  handler: async ({ session, params, base }) => {
    const app = session.get(App, params.guid);
    requireVisibleVariables(session);
    const variables = await readVariables(session, app);
    session.recordAppEvent("environment_variables.show", app);
    return ok(presentVariables(variables, base, params.guid));
  },
});

const setVariables = endpoint({
  method: "PATCH",
  path: `${path}/environment_variables`,
  permission: { verb: "update", on: App, subresource: "env" },
  asks: [readEnv, { verb: "patch", on: App }],
  body: setVariablesBody,
  summary: "Update the user-provided variables of an app",
  handler: async ({ session, params, body, base }) => {
    const after = await writeVariables(session, session.get(App, params.guid), body.var);
    return ok(presentVariables(await readVariables(session, after), base, params.guid));
  },
});

const listFeatures = endpoint({
  method: "GET",
  path: `${path}/features`,
  permission: { verb: "get", on: App },
  summary: "List features of an app",
  handler: ({ session, params }) => {
    const resources = presentFeatures(session.get(App, params.guid));
    // As in CF, without an address of this API.
    const whole = { href: `/v3/apps/${params.guid}/features` };
    return ok({
      resources,
      pagination: {
        total_results: resources.length,
        total_pages: 1,
        first: whole,
        last: whole,
        next: null,
        previous: null,
      },
    });
  },
});

const getFeature = endpoint({
  method: "GET",
  path: `${path}/features/:name`,
  permission: { verb: "get", on: App },
  summary: "Get a feature of an app",
  handler: ({ session, params }) => ok(presentFeature(session.get(App, params.guid), params.name)),
});

const setFeature = endpoint({
  method: "PATCH",
  path: `${path}/features/:name`,
  permission: { verb: "patch", on: App },
  body: featureBody,
  summary: "Update a feature of an app",
  handler: async ({ session, params, body }) => {
    const app = session.get(App, params.guid);
    const name = params.name;
    presentFeature(app, name);
    const features = toFeaturesPatch(app, { [name]: body.enabled });
    const after = features ? await session.patch(App, app, { type: "merge", body: { spec: { features } } }) : app;
    return ok(presentFeature(after, name));
  },
});

const permissions = endpoint({
  method: "GET",
  path: `${path}/permissions`,
  permission: { verb: "get", on: App },
  asks: [APP_SECRETS],
  summary: "Get the caller's permissions for an app",
  handler: ({ session, params }) => {
    const app = session.get(App, params.guid);
    return ok({
      read_basic_data: true,
      read_sensitive_data: session.allows({
        verb: "get",
        on: App,
        subresource: "secrets",
        namespace: app.metadata.namespace ?? "",
        name: app.metadata.name,
      }),
    });
  },
});

/** Not in CF. Those who may see an app may see which rules it breaks; constraints are other people's. */
const policyViolations = endpoint({
  method: "GET",
  path: `${path}/policy_violations`,
  permission: { verb: "get", on: App },
  summary: "List the rules of operator policy that an app, or an object that belongs to it, breaks",
  handler: ({ session, params }) => {
    const app = session.get(App, params.guid);
    return ok({ resources: app.status?.policyViolations ?? [] });
  },
});

export const appEnvironment = [
  policyViolations,
  env,
  getVariables,
  setVariables,
  listFeatures,
  getFeature,
  setFeature,
  permissions,
];
