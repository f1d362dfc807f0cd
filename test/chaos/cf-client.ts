// The load through the CF API: each request goes to any of the replicas, and again until it is answered.
import { request } from "undici";
import { App } from "../../crds/app/app.ts";
import { CF_ROLES, type CFRole } from "../../crds/roles.ts";
import { guidOf } from "../../crds/guid.ts";
import { Org } from "../../crds/org/org.ts";
import { Route } from "../../crds/route/route.ts";
import { Space } from "../../crds/space/space.ts";
import { RoleBinding } from "../../kube/api/builtin.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { ObjectKey } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { RetryableError, retryUntilAcknowledged, PermanentError } from "./retry.ts";
import type { RunScope } from "./run-scope.ts";

export interface CfResponse {
  status: number;
  text: string;
}

export interface CfClientOptions {
  /** Addresses of all replicas, those that are down too. */
  urls: readonly string[];
  token: string;
  kube: KubeClient;
  scope: RunScope;
  domain: string;
}

interface Body {
  guid: string;
  state?: string;
  droplet?: { guid: string };
  resources?: Body[];
}

const DEADLINE_MS = 12_000;
let turn = 0;

/** A person's `cf`. Every function resolves when the platform has acknowledged. */
export function createCfClient({ urls, token, kube, scope, domain }: CfClientOptions) {
  async function send(method: string, path: string, body?: object): Promise<CfResponse> {
    const answer = await request(`${urls[turn++ % urls.length]}${path}`, {
      method: method as "GET",
      headers: { authorization: `bearer ${token}`, ...(body && { "content-type": "application/json" }) },
      ...(body && { body: JSON.stringify(body) }),
      headersTimeout: DEADLINE_MS,
      bodyTimeout: DEADLINE_MS,
    });
    return { status: answer.statusCode, text: await answer.body.text() };
  }
  async function once(method: string, path: string, body?: object): Promise<Body> {
    const { status, text } = await send(method, path, body);
    if (status >= 300) throw new RetryableError(`${method} ${path}: ${status} ${text.slice(0, 300)}`);
    return (text ? JSON.parse(text) : {}) as Body;
  }
  const call = (method: string, path: string, body?: object): Promise<Body> =>
    retryUntilAcknowledged(`${scope.prefix}: ${method} ${path}`, () => once(method, path, body));
  /** A create whose answer was lost is found by its name. */
  const create = (path: string, body: object, lookup: string): Promise<string> =>
    retryUntilAcknowledged(`${scope.prefix}: POST ${path} ${JSON.stringify(body)}`, async () => {
      const { status, text } = await send("POST", path, body);
      if (status === 201) return (JSON.parse(text) as Body).guid;
      const [found] = status === 422 ? ((await once("GET", lookup)).resources ?? []) : [];
      if (!found) throw new RetryableError(`${status} ${text.slice(0, 300)}`);
      return found.guid;
    });
  /** Done when the object is gone or going: a 404 may come from a replica that has not seen it yet. */
  const remove = (ref: ResourceRef, key: ObjectKey, pathOf: (guid: string) => string): Promise<void> =>
    retryUntilAcknowledged(`${scope.prefix}: DELETE ${ref.kind} ${key.name}`, async () => {
      const found = await kube.find(ref, key);
      if (!found || found.metadata.deletionTimestamp) return;
      await once("DELETE", pathOf(guidOf(found)));
      throw new RetryableError("it is still there");
    });
  const toOne = (guid: string): object => ({ data: { guid } });
  const inSpace = async (space: string): Promise<object> => toOne((await scope.space(space)).guid);
  const ids = new Map<string, string>();
  const remember = (name: string, guid: string): string => {
    ids.set(name, guid);
    return guid;
  };
  /** An app's GUID by its object's name, which no rename changes. */
  const appGUID = async (space: string, app: string): Promise<string> =>
    ids.get(`app ${space} ${app}`) ?? remember(`app ${space} ${app}`, await findApp(space, app));
  const findApp = async (space: string, app: string): Promise<string> => {
    const { namespace } = await scope.space(space);
    return retryUntilAcknowledged(`${scope.prefix}: app ${app}`, async () =>
      guidOf(await kube.get(App, { namespace, name: app })),
    );
  };
  const domainGUID = async (): Promise<string> =>
    ids.get("domain") ??
    remember("domain", (await call("GET", `/v3/domains?names=${domain}`)).resources?.[0]?.guid ?? "");
  const routeGUID = async (route: string): Promise<string> =>
    ids.get(`route ${route}`) ??
    remember(
      `route ${route}`,
      await retryUntilAcknowledged(`${scope.prefix}: route ${route}`, async () => {
        const [found] = (await once("GET", `/v3/routes?hosts=${scope.host(route)}`)).resources ?? [];
        if (!found) throw new RetryableError(`no route ${route}`);
        return found.guid;
      }),
    );

  return {
    async org(): Promise<void> {
      await create("/v3/organizations", { name: scope.org }, `/v3/organizations?names=${scope.org}`);
    },
    async space(name: string): Promise<void> {
      const org = await scope.orgGUID();
      await create(
        "/v3/spaces",
        { name, relationships: { organization: toOne(org) } },
        `/v3/spaces?names=${name}&organization_guids=${org}`,
      );
    },
    async deleteSpace(name: string): Promise<void> {
      await remove(Space, { namespace: await scope.orgNamespace(), name }, (guid) => `/v3/spaces/${guid}`);
    },
    async deleteOrg(): Promise<void> {
      await remove(Org, { name: scope.org }, (guid) => `/v3/organizations/${guid}`);
    },
    async app(space: string, name: string): Promise<void> {
      const { guid } = await scope.space(space);
      const body = { name, lifecycle: { type: "docker", data: {} }, relationships: { space: toOne(guid) } };
      remember(`app ${space} ${name}`, await create("/v3/apps", body, `/v3/apps?names=${name}&space_guids=${guid}`));
    },
    /** A name that somebody else has is refused, and stays so. */
    async taken(space: string, name: string): Promise<void> {
      const body = { name, relationships: { space: await inSpace(space) } };
      await retryUntilAcknowledged(`${scope.prefix}: refusal of a second app ${name}`, async () => {
        const { status, text } = await send("POST", "/v3/apps", body);
        if (status === 201) throw new PermanentError(`a second app ${name} was created: ${text.slice(0, 300)}`);
        if (!text.includes(`App with the name '${name}' already exists.`))
          throw new RetryableError(`${status} ${text.slice(0, 300)}`);
      });
    },
    async env(space: string, app: string, value: string): Promise<void> {
      await call("PATCH", `/v3/apps/${await appGUID(space, app)}/environment_variables`, { var: { VALUE: value } });
    },
    async push(space: string, app: string, image: string): Promise<void> {
      const guid = await appGUID(space, app);
      const pkg = await call("POST", "/v3/packages", {
        type: "docker",
        data: { image },
        relationships: { app: toOne(guid) },
      });
      const build = await retryUntilAcknowledged(`${scope.prefix}: build of ${app}`, async () => {
        const [open] = (await once("GET", `/v3/builds?app_guids=${guid}`)).resources ?? [];
        return open ?? (await once("POST", "/v3/builds", { package: { guid: pkg.guid } }));
      });
      const staged = await retryUntilAcknowledged(`${scope.prefix}: build ${build.guid} of ${app}`, async () => {
        const now = await once("GET", `/v3/builds/${build.guid}`);
        if (now.state === "FAILED") throw new PermanentError(`build ${build.guid} of ${app} failed`);
        if (now.state !== "STAGED" || !now.droplet) throw new RetryableError(`it is ${now.state}`);
        return now.droplet;
      });
      await call("PATCH", `/v3/apps/${guid}/relationships/current_droplet`, toOne(staged.guid));
    },
    async route(space: string, route: string, app: string): Promise<void> {
      const body = {
        host: scope.host(route),
        relationships: { space: await inSpace(space), domain: toOne(await domainGUID()) },
      };
      const guid = remember(
        `route ${route}`,
        await create("/v3/routes", body, `/v3/routes?hosts=${scope.host(route)}`),
      );
      await call("POST", `/v3/routes/${guid}/destinations`, {
        destinations: [{ app: { guid: await appGUID(space, app) } }],
      });
    },
    async unmap(route: string): Promise<void> {
      await call("PATCH", `/v3/routes/${await routeGUID(route)}/destinations`, { destinations: [] });
    },
    async deleteRoute(space: string, route: string): Promise<void> {
      const { namespace } = await scope.space(space);
      const wanted = scope.host(route);
      const found = await retryUntilAcknowledged(`${scope.prefix}: route ${route}`, async () =>
        (await kube.list(Route, { namespace })).items.find(({ spec }) => spec.host === wanted),
      );
      if (found) await remove(Route, { namespace, name: found.metadata.name }, (guid) => `/v3/routes/${guid}`);
    },
    async scale(space: string, app: string, size: { instances?: number; memory_in_mb?: number }): Promise<void> {
      await call("POST", `/v3/apps/${await appGUID(space, app)}/processes/web/actions/scale`, size);
    },
    async act(space: string, app: string, verb: "start" | "stop" | "restart"): Promise<void> {
      await call("POST", `/v3/apps/${await appGUID(space, app)}/actions/${verb}`);
    },
    async update(space: string, app: string, change: object): Promise<void> {
      await call("PATCH", `/v3/apps/${await appGUID(space, app)}`, change);
    },
    async deleteApp(space: string, app: string): Promise<void> {
      await remove(App, { namespace: (await scope.space(space)).namespace, name: app }, (guid) => `/v3/apps/${guid}`);
    },
    async role(space: string, user: string, type: string): Promise<void> {
      const at = type.startsWith("organization")
        ? { organization: toOne(await scope.orgGUID()) }
        : { space: await inSpace(space) };
      await retryUntilAcknowledged(`${scope.prefix}: role ${type}`, async () => {
        const { status, text } = await send("POST", "/v3/roles", { type, relationships: { user: toOne(user), ...at } });
        if (status !== 201 && !text.includes("already has"))
          throw new RetryableError(`${status} ${text.slice(0, 300)}`);
      });
    },
    async unrole(space: string, user: string, type: CFRole): Promise<void> {
      const { guid, namespace } = await scope.space(space);
      const isIt = (binding: { roleRef?: { name: string }; subjects?: { name: string }[] }): boolean =>
        binding.roleRef?.name === CF_ROLES[type].clusterRole &&
        (binding.subjects ?? []).some(({ name }) => name === user);
      await retryUntilAcknowledged(`${scope.prefix}: no role ${type}`, async () => {
        if (!(await kube.list(RoleBinding, { namespace })).items.some(isIt)) return;
        const [role] =
          (await once("GET", `/v3/roles?types=${type}&user_guids=${user}&space_guids=${guid}`)).resources ?? [];
        if (!role) throw new RetryableError(`the role ${type} of ${user} is not shown`);
        await once("DELETE", `/v3/roles/${role.guid}`);
        throw new RetryableError("it is still there");
      });
    },
  };
}

export type CfClient = ReturnType<typeof createCfClient>;
