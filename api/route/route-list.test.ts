// Lists of routes are remembered, shared routes included, and show every change of the apps in other spaces that these lead to.
import { expect, test } from "vitest";
import { App } from "../../crds/app/app.ts";
import { Claim } from "../../crds/claim/claim.ts";
import { claimedNameOf } from "../../crds/claim/claimed-name.ts";
import { newClaim } from "../../crds/claim/rules.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { Org } from "../../crds/org/org.ts";
import { Process } from "../../crds/process/process.ts";
import { Route } from "../../crds/route/route.ts";
import { Space } from "../../crds/space/space.ts";
import { ClusterRole, RoleBinding } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { apiVersionOf, type ResourceRef } from "../../kube/api/resource-ref.ts";
import { createLiveCache } from "../access/testing/live-cache.ts";
import type { Reply, RequestContext } from "../routing/endpoint.ts";
import { routeEndpoints } from "./route.ts";

const rbac = "rbac.authorization.k8s.io";
let versions = 1;

/** A platform with spaces `a`, `b` and `c`, whose namespaces have these names, and a developer of all. */
function platform() {
  const live = createLiveCache();
  const put = (ref: ResourceRef, namespace: string, name: string, rest: object): KubeObject => {
    const metadata = { name, ...(namespace && { namespace }), uid: `${ref.kind}-${namespace}-${name}` };
    const object = {
      apiVersion: apiVersionOf(ref),
      kind: ref.kind,
      metadata: { ...metadata, resourceVersion: String(++versions) },
      ...rest,
    };
    live.store(ref).upsert(object);
    const claimed = claimedNameOf(ref.kind, object, () => live.store(Domain).list()[0]);
    if (claimed) {
      const claim = newClaim(claimed, { kind: ref.kind, name, ...(namespace && { namespace }) }, new Date(0));
      const { name: claimName = "" } = claim.metadata;
      live.store(Claim).upsert({ ...claim, metadata: { ...claim.metadata, uid: claimName, resourceVersion: "1" } });
    }
    return object;
  };
  const rules = [{ apiGroups: ["*"], resources: ["*"], verbs: ["get"] }];
  put(ClusterRole as ResourceRef, "", "reader", { rules });
  const binding = {
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name: "reader" },
    subjects: [{ apiGroup: rbac, kind: "User", name: "dev" }],
  };
  for (const namespace of [SYSTEM_NAMESPACE, "org", "a", "b", "c"])
    put(RoleBinding as ResourceRef, namespace, "dev", binding);
  put(Domain, SYSTEM_NAMESPACE, "apps.example", { spec: { name: "apps.example", sharedOrgs: [], internal: false } });
  put(Org, "", "org", { spec: {}, status: { namespace: "org" } });
  for (const name of ["a", "b", "c"]) put(Space, "org", name, { spec: {}, status: { namespace: name } });
  return {
    live,
    app: (namespace: string, name: string) =>
      put(App, namespace, name, { spec: { name, state: "Stopped", lifecycle: { type: "buildpack" } } }),
    process: (namespace: string, app: string, port: number) =>
      put(Process, namespace, `${app}.web`, { spec: { appRef: { name: app }, type: "web", ports: [port] } }),
    /** A route of space `namespace` to an app of another one. */
    route: (namespace: string, name: string, to: string, app: string) =>
      put(Route, namespace, name, {
        spec: {
          ...{ host: name, path: "", port: 0, domainRef: { name: "apps.example" }, sharedSpaces: [to] },
          destinations: [{ app, namespace: to, process: "web", port: 0, protocol: "http1" }],
        },
      }),
  };
}

type Platform = ReturnType<typeof platform>;

type List = readonly [url: string, path: string, query: object, params: object];

/** The page as bytes, asked for with this URL. */
async function getPage({ live }: Platform, [url, path, query, params]: List): Promise<Buffer> {
  const endpoint = routeEndpoints.find((one) => one.method === "GET" && one.path === path);
  const reply: Reply | undefined = await endpoint?.handler({
    ...{ session: live.session("dev"), base: "http://api", url, params },
    query: { page: 1, per_page: 50, ...query },
  } as unknown as RequestContext);
  return reply?.body as Buffer;
}

const ofApp = { guid: "App-b-shop" };
const LISTS: readonly List[] = [
  ["/v3/routes?", "/v3/routes", {}, {}],
  ["/v3/routes?space_guids=Space-org-a&", "/v3/routes", { space_guids: ["Space-org-a"] }, {}],
  ["/v3/routes?space_guids=Space-org-b&", "/v3/routes", { space_guids: ["Space-org-b"] }, {}],
  ["/v3/routes?app_guids=App-b-shop&", "/v3/routes", { app_guids: ["App-b-shop"] }, {}],
  [
    "/v3/routes?app_guids=App-b-shop&space_guids=Space-org-a&",
    "/v3/routes",
    { app_guids: ["App-b-shop"], space_guids: ["Space-org-a"] },
    {},
  ],
];
const OF_APP: List = ["/v3/apps/App-b-shop/routes?", "/v3/apps/:guid/routes", {}, ofApp];

const CHANGES: readonly [what: string, change: (given: Platform) => unknown][] = [
  ["the app appears", ({ app }) => app("b", "shop")],
  ["a route leads to it", ({ route }) => route("a", "one", "b", "shop")],
  ["another one, of a third space, leads to it", ({ route }) => route("c", "two", "b", "shop")],
  ["its process listens elsewhere", ({ process }) => process("b", "shop", 9000)],
  ["and elsewhere again", ({ process }) => process("b", "shop", 9001)],
  ["the first route leads to another app", ({ route }) => route("a", "one", "b", "other")],
  ["which appears", ({ app }) => app("b", "other")],
  ["and goes", ({ live, app }) => live.store(App).remove(app("b", "other") as App)],
  ["the first route leads back", ({ route }) => route("a", "one", "b", "shop")],
  ["the app goes", ({ live, app }) => live.store(App).remove(app("b", "shop") as App)],
  ["and is there again", ({ app }) => app("b", "shop")],
];

test("remembered lists of shared routes are what they would be found to be, after any change", async () => {
  const given = platform();
  const resources = async ([url, ...rest]: List, more = ""): Promise<unknown> =>
    (JSON.parse(String(await getPage(given, [`${url}${more}`, ...rest]))) as { resources: unknown }).resources;
  for (const [at, [what, change]] of CHANGES.entries()) {
    change(given);
    const hasApp = given.live.store(App).find({ namespace: "b", name: "shop" }) !== undefined;
    for (const list of hasApp ? [...LISTS, OF_APP] : LISTS)
      expect(await resources(list), `${what}: ${list[0]}`).toEqual(await resources(list, `found anew=${at}`));
  }
});

test("a page with a shared route is sent again as it was until what it shows changes", async () => {
  const given = platform();
  given.app("b", "shop");
  given.route("a", "one", "b", "shop");
  const page = (): Promise<Buffer> => getPage(given, ["/v3/routes", "/v3/routes", {}, {}]);
  const first = await page();
  expect(String(first)).toContain('"port":8080');
  given.app("c", "elsewhere");
  expect(await page()).toBe(first);
  given.process("b", "shop", 9000);
  expect(String(await page())).toContain('"port":9000');
});
