// `cf` for routes of one host that differ in their path, ports of destinations, and lists of routes by label.
import { expect } from "vitest";
import type { Page } from "../support/api.ts";
import { makeApp } from "./support/apps.ts";
import type { CaseRun, CommandCases } from "./support/case.ts";
import { getNamed, makeRoute, makeSpace, read, to, type Shown } from "./support/objects.ts";

const PATH = "/cart";

/** A route with the path, as `{route}`. */
async function withPath(run: CaseRun): Promise<void> {
  const { spaceGUID, domainGUID } = run.ground;
  const relationships = { space: to(spaceGUID), domain: to(domainGUID) };
  const body = { host: run.name, path: PATH, relationships };
  run.values["route"] = (await run.ground.api.admin.call<Shown>("POST", "/v3/routes", body)).guid;
}

/** And one without it, as `{plain}`. */
async function twoRoutes(run: CaseRun): Promise<void> {
  run.values["plain"] = (await makeRoute(run)).guid;
  await withPath(run);
}

/** Both lead to an app. */
async function twoMapped(run: CaseRun): Promise<void> {
  const app = await makeApp(run, { is: "empty" });
  await twoRoutes(run);
  const destinations = [{ app: { guid: app } }];
  for (const route of ["plain", "route"])
    await run.ground.api.admin.call("POST", `/v3/routes/${run.values[route]}/destinations`, { destinations });
}

async function twoToShare(run: CaseRun): Promise<void> {
  await run.ground.api.admin.call("PATCH", "/v3/feature_flags/route_sharing", { enabled: true });
  await twoRoutes(run);
  await makeSpace(run);
}

async function twoShared(run: CaseRun): Promise<void> {
  await twoToShare(run);
  const data = [{ guid: (await getNamed(run, "spaces")).guid }];
  for (const route of ["plain", "route"])
    await run.ground.api.admin.call("POST", `/v3/routes/${run.values[route]}/relationships/shared_spaces`, { data });
}

/** The routes of the case's host, by path. */
async function routesOf(run: CaseRun): Promise<Map<string, Shown>> {
  const { resources } = await read<Page<Shown>>(run, `/v3/routes?hosts=${run.name}`);
  return new Map(resources.map((route) => [String(route["path"]), route]));
}

/** Routes with and without the path. */
const are = (ofPath: object, plain: object) => async (run: CaseRun) => {
  const routes = await routesOf(run);
  expect(routes.get(PATH)).toMatchObject(ofPath);
  expect(routes.get("")).toMatchObject(plain);
};

async function sharedWith(run: CaseRun, route: string): Promise<number> {
  const path = `/v3/routes/${run.values[route]}/relationships/shared_spaces`;
  return (await read<{ data: Shown[] }>(run, path)).data.length;
}

const WHERE = `{domain} --hostname {name} --path ${PATH}`;

export const ROUTE_PATH_CASES: readonly CommandCases[] = [
  {
    command: "routes",
    cases: [
      {
        name: "--labels",
        given: async (run) => {
          await makeRoute(run);
          await makeRoute(run, `${run.name}-other`);
          await run.cf("developer", "set-label", "route", `${run.name}.apps.localhost`, `kind=${run.name}`);
        },
        run: "routes --labels kind={name}",
        shows: ["{name}"],
        hides: ["{name}-other"],
        effect: async (run) => expect((await routesOf(run)).size).toBe(1),
      },
    ],
  },
  {
    command: "route",
    cases: [
      {
        name: "--path",
        given: twoRoutes,
        run: `route ${WHERE}`,
        shows: ["Showing route {name}.{domain}/cart in org", /path:\s+\/cart/],
        effect: are({}, {}),
      },
    ],
  },
  {
    command: "map-route",
    cases: [
      {
        name: "--app-port",
        given: (run) => makeApp(run, { is: "empty" }),
        run: "map-route {name} {domain} -n {name} --app-port 9090",
        effect: async (run) =>
          expect((await routesOf(run)).get("")).toMatchObject({
            destinations: [{ app: { guid: run.values["app"] }, port: 9090 }],
          }),
      },
    ],
  },
  {
    command: "unmap-route",
    cases: [
      {
        name: "--path, which leaves the one without it",
        given: twoMapped,
        run: `unmap-route {name} ${WHERE}`,
        shows: ["OK"],
        effect: are({ destinations: [] }, { destinations: [{ port: 8080 }] }),
      },
    ],
  },
  {
    command: "update-route",
    cases: [
      {
        name: "--path",
        given: twoRoutes,
        run: `update-route ${WHERE} --option loadbalancing=least-connection`,
        shows: ["Route {name}.{domain}/cart has been updated"],
        effect: async (run) => {
          await are({ options: { loadbalancing: "least-connection" } }, {})(run);
          expect((await routesOf(run)).get("")?.["options"]).not.toMatchObject({ loadbalancing: "least-connection" });
        },
      },
    ],
  },
  {
    command: "update-destination",
    cases: [
      {
        name: "--path",
        given: twoMapped,
        run: `update-destination {name} ${WHERE} --app-protocol http2`,
        shows: ["OK"],
        effect: are({ destinations: [{ protocol: "http2" }] }, { destinations: [{ protocol: "http1" }] }),
      },
    ],
  },
  {
    command: "delete-route",
    cases: [
      {
        name: "--path, which leaves the one without it",
        given: twoRoutes,
        run: `delete-route ${WHERE} -f`,
        shows: ["OK"],
        effect: async (run) => expect([...(await routesOf(run)).keys()]).toEqual([""]),
      },
    ],
  },
  {
    command: "share-route",
    cases: [
      {
        name: "--path",
        as: "admin",
        given: twoToShare,
        run: `share-route ${WHERE} -s {name} -o {org}`,
        shows: ["OK"],
        effect: async (run) => expect([await sharedWith(run, "route"), await sharedWith(run, "plain")]).toEqual([1, 0]),
      },
    ],
  },
  {
    command: "unshare-route",
    cases: [
      {
        name: "--path",
        as: "admin",
        given: twoShared,
        run: `unshare-route ${WHERE} -s {name} -o {org}`,
        shows: ["OK"],
        effect: async (run) => expect([await sharedWith(run, "route"), await sharedWith(run, "plain")]).toEqual([0, 1]),
      },
    ],
  },
  {
    command: "move-route",
    cases: [
      {
        name: "--path",
        as: "admin",
        // Two routes of one host would be in two spaces then, which is refused.
        given: async (run) => {
          await run.ground.api.admin.call("PATCH", "/v3/feature_flags/route_sharing", { enabled: true });
          await Promise.all([withPath(run), makeSpace(run)]);
        },
        run: `move-route ${WHERE} -s {name} -o {org}`,
        shows: ["OK"],
        effect: async (run) => {
          const space = to((await getNamed(run, "spaces")).guid);
          expect((await routesOf(run)).get(PATH)).toMatchObject({ relationships: { space } });
          expect(await sharedWith(run, "route")).toBe(1);
        },
      },
    ],
  },
];
