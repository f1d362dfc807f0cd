// The environment of an app, its features, and the questions about ssh.
import { App } from "../../crds/app/app.ts";
import { systemEnv, vcapApplication } from "../../crds/app/vcap.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import { Org } from "../../crds/org/org.ts";
import { Route } from "../../crds/route/route.ts";
import { Space } from "../../crds/space/space.ts";
import { endpoint, ok } from "../http/endpoint.ts";
import { appKey } from "../cf/app-children.ts";
import { readVariables, writeVariables } from "../cf/app-env.ts";
import { requireVisibleVariables } from "../cf/feature-flags.ts";
import { toFeaturesPatch, presentFeature, presentFeatures } from "../cf/app-features.ts";
import { link } from "../http/presentation.ts";
import { routeURLOf } from "../cf/route-url.ts";
import type { Session } from "../access/session.ts";
import { featureBody, setVariablesBody } from "./payload.ts";

const path = "/v3/apps/:guid";
const readEnv = { verb: "get", on: App, subresource: "env" } as const;

function presentVariables(variables: Record<string, string>, base: string, guid: string): object {
  return {
    var: variables,
    links: { self: link(`${base}/v3/apps/${guid}/environment_variables`), app: link(`${base}/v3/apps/${guid}`) },
  };
}

const env = endpoint(
  "GET",
  `${path}/env`,
  { permission: readEnv, summary: "All variables an app gets" },
  async ({ as, params, base }) => {
    const app = as.get(App, params["guid"] ?? "");
    requireVisibleVariables(as);
    const variables = await readVariables(as, app);
    const { VCAP_SERVICES } = systemEnv([]);
    return ok({
      staging_env_json: {},
      running_env_json: {},
      environment_variables: variables,
      system_env_json: { VCAP_SERVICES: JSON.parse(VCAP_SERVICES) as object },
      application_env_json: { VCAP_APPLICATION: application(as, app, base) },
    });
  },
);

function application(as: Session, app: App, base: string): object {
  const { cache } = as;
  const space = cache.spaceOf(app.metadata.namespace);
  const org = cache.orgOf(space?.metadata.namespace);
  return vcapApplication({
    apiURL: base,
    app: { guid: cache.guid(App, app), name: displayNameOf(app) },
    space: { guid: space ? cache.guid(Space, space) : "", name: space ? displayNameOf(space) : "" },
    org: { guid: org ? cache.guid(Org, org) : "", name: org ? displayNameOf(org) : "" },
    uris: as.list(Route, { index: ["app", appKey(app)] }).map((route) => routeURLOf(cache, route)),
  });
}

const getVariables = endpoint(
  "GET",
  `${path}/environment_variables`,
  { permission: readEnv, summary: "An app's own variables" },
  async ({ as, params, base }) => {
    const app = as.get(App, params["guid"] ?? "");
    requireVisibleVariables(as);
    return ok(presentVariables(await readVariables(as, app), base, params["guid"] ?? ""));
  },
);

const setVariables = endpoint(
  "PATCH",
  `${path}/environment_variables`,
  {
    permission: { verb: "update", on: App, subresource: "env" },
    body: setVariablesBody,
    summary: "Set or remove variables",
  },
  async ({ as, params, body, base }) => {
    const after = await writeVariables(as, as.get(App, params["guid"] ?? ""), body.var);
    return ok(presentVariables(await readVariables(as, after), base, params["guid"] ?? ""));
  },
);

const listFeatures = endpoint(
  "GET",
  `${path}/features`,
  { permission: { verb: "get", on: App }, summary: "List features of an app" },
  ({ as, params }) => {
    const resources = presentFeatures(as.get(App, params["guid"] ?? ""));
    return ok({
      resources,
      pagination: {
        total_results: resources.length,
        total_pages: 1,
        first: null,
        last: null,
        next: null,
        previous: null,
      },
    });
  },
);

const getFeature = endpoint(
  "GET",
  `${path}/features/:name`,
  { permission: { verb: "get", on: App }, summary: "Get a feature of an app" },
  ({ as, params }) => ok(presentFeature(as.get(App, params["guid"] ?? ""), params["name"] ?? "")),
);

const setFeature = endpoint(
  "PATCH",
  `${path}/features/:name`,
  { permission: { verb: "patch", on: App }, body: featureBody, summary: "Turn a feature of an app on or off" },
  async ({ as, params, body }) => {
    const app = as.get(App, params["guid"] ?? "");
    const name = params["name"] ?? "";
    presentFeature(app, name);
    const features = toFeaturesPatch({ [name]: body.enabled });
    const after = features ? await as.patch(App, app, { type: "merge", body: { spec: { features } } }) : app;
    return ok(presentFeature(after, name));
  },
);

const permissions = endpoint(
  "GET",
  `${path}/permissions`,
  { permission: { verb: "get", on: App }, summary: "What the caller may see of an app" },
  ({ as, params }) => {
    const app = as.get(App, params["guid"] ?? "");
    return ok({
      read_basic_data: true,
      read_sensitive_data: as.allows({
        verb: "get",
        on: App,
        subresource: "secrets",
        namespace: app.metadata.namespace ?? "",
        name: app.metadata.name,
      }),
    });
  },
);

// No instance can be entered yet, on any runner; the answer says so rather than that a switch is off.
const sshEnabled = endpoint(
  "GET",
  `${path}/ssh_enabled`,
  { permission: { verb: "get", on: App }, summary: "May instances be entered by ssh" },
  ({ as, params }) => {
    as.get(App, params["guid"] ?? "");
    return ok({ enabled: false, reason: "ssh is disabled globally" });
  },
);

export const appEnvironment = [
  env,
  getVariables,
  setVariables,
  listFeatures,
  getFeature,
  setFeature,
  permissions,
  sshEnabled,
];
