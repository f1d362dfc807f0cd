// `cf` for routes, sharing included.
import { expect } from "vitest";
import { makeApp } from "./support/apps.ts";
import type { CaseRun, CommandCases } from "./support/case.ts";
import { findNamed, findRoute, getNamed, makeRoute, makeSpace, read, to, type Shown } from "./support/objects.ts";

const FORBIDDEN = "You are not authorized to perform the requested action";
const routeIs = (members: object) => async (run: CaseRun) => expect(await findRoute(run)).toMatchObject(members);
const routeGone = async (run: CaseRun): Promise<void> => expect(await findRoute(run)).toBeUndefined();
const mappedRoute = async (run: CaseRun): Promise<void> => {
  const [app, route] = [await makeApp(run, { is: "empty" }), await makeRoute(run)];
  const destinations = [{ app: { guid: app } }];
  await run.ground.api.admin.call("POST", `/v3/routes/${route.guid}/destinations`, { destinations });
};
const leadsTo = async (run: CaseRun, members: object = {}): Promise<void> =>
  expect(await findRoute(run)).toMatchObject({ destinations: [{ app: { guid: run.values["app"] }, ...members }] });
const sharing = async (run: CaseRun): Promise<void> => {
  await run.ground.api.admin.call("PATCH", "/v3/feature_flags/route_sharing", { enabled: true });
  await Promise.all([makeRoute(run), makeSpace(run)]);
};
const sharedWith = async (run: CaseRun): Promise<string[]> => {
  const path = `/v3/routes/${(await findRoute(run))?.guid}/relationships/shared_spaces`;
  return (await read<{ data: Shown[] }>(run, path)).data.map(({ guid }) => guid);
};
const share = async (run: CaseRun): Promise<void> => {
  await sharing(run);
  const data = [{ guid: (await getNamed(run, "spaces")).guid }];
  await run.ground.api.admin.call("POST", `/v3/routes/${(await findRoute(run))?.guid}/relationships/shared_spaces`, {
    data,
  });
};

export const ROUTE_CASES: readonly CommandCases[] = [
  {
    command: "create-route",
    cases: [
      {
        name: "--hostname",
        run: "create-route {domain} --hostname {name}",
        shows: [
          "Creating route {name}.{domain} for org {org} / space {space} as",
          "Route {name}.{domain} has been created.",
          "OK",
        ],
        effect: routeIs({ path: "" }),
      },
      {
        name: "--path",
        run: "create-route {domain} --hostname {name} --path /cart",
        shows: ["Route {name}.{domain}/cart has been created."],
        effect: routeIs({ path: "/cart" }),
      },
      {
        name: "--option",
        run: "create-route {domain} -n {name} --option loadbalancing=least-connection",
        effect: routeIs({ options: { loadbalancing: "least-connection" } }),
      },
      {
        name: "one that is there already",
        given: (run) => makeRoute(run),
        run: "create-route {domain} -n {name}",
        shows: ["already exists", "OK"],
        effect: routeIs({}),
      },
      {
        name: "by an auditor",
        as: "auditor",
        run: "create-route {domain} -n {name}",
        refused: [FORBIDDEN],
        effect: routeGone,
      },
      {
        name: "in a domain that is not there",
        run: "create-route no-such.example -n x",
        refused: ["Domain 'no-such.example' not found."],
      },
      {
        name: "--port",
        run: "create-route {domain} --port 1234",
        refused: [/Routes with protocol 'http' do not support ports/],
      },
    ],
  },
  {
    command: "routes",
    cases: [
      {
        name: "of a space",
        given: mappedRoute,
        run: "routes",
        shows: [
          "Getting routes for org {org} / space {space} as",
          /space\s+host\s+domain\s+port\s+path\s+protocol\s+app-protocol\s+app-port\s+apps/,
          /routes-1\s+apps\.localhost\s+http\s+http1\s+8080\s+routes-1/,
        ],
        effect: routeIs({}),
      },
      {
        name: "--org-level",
        given: (run) => makeRoute(run),
        run: "routes --org-level",
        shows: ["Getting routes for org {org} as", "{name}"],
        effect: routeIs({}),
      },
    ],
  },
  {
    command: "route",
    cases: [
      {
        name: "with a destination",
        given: mappedRoute,
        run: "route {domain} --hostname {name}",
        shows: [
          "Showing route {name}.{domain} in org {org} / space {space} as",
          /host:\s+route-1/,
          "Destinations:",
          /app\s+process\s+port\s+app-protocol/,
          /route-1\s+web\s+8080\s+http1/,
        ],
        effect: routeIs({}),
      },
      {
        name: "one that is not there",
        run: "route {domain} -n no-such",
        refused: ["Route with host 'no-such', domain 'apps.localhost', and path '/' not found."],
      },
    ],
  },
  {
    command: "check-route",
    cases: [
      {
        name: "one that is there",
        given: (run) => makeRoute(run),
        run: "check-route {domain} --hostname {name}",
        shows: ["Route '{name}.{domain}' does exist.", "OK"],
        effect: routeIs({}),
      },
      {
        name: "one that is not there",
        run: "check-route {domain} --hostname {name} --path /x",
        shows: ["Route '{name}.{domain}/x' does not exist."],
        effect: routeGone,
      },
    ],
  },
  {
    command: "map-route",
    cases: [
      {
        name: "a new route",
        given: (run) => makeApp(run, { is: "empty" }),
        run: "map-route {name} {domain} --hostname {name}",
        shows: ["Creating route {name}.{domain}", "Mapping route {name}.{domain} to app {name} in org", "OK"],
        effect: (run) => leadsTo(run, { port: 8080, protocol: "http1" }),
      },
      {
        name: "--app-protocol --path",
        given: (run) => makeApp(run, { is: "empty" }),
        run: "map-route {name} {domain} -n {name} --path /api --app-protocol http2",
        shows: ["with protocol http2"],
        effect: (run) => leadsTo(run, { protocol: "http2" }),
      },
      {
        name: "one that is mapped already",
        given: mappedRoute,
        run: "map-route {name} {domain} -n {name}",
        shows: ["App '{name}' is already mapped to route '{name}.{domain}'. Nothing has been updated.", "OK"],
        effect: (run) => leadsTo(run),
      },
      {
        name: "by an auditor",
        as: "auditor",
        given: (run) => makeApp(run, { is: "empty" }),
        run: "map-route {name} {domain} -n {name}",
        refused: [FORBIDDEN],
        effect: routeGone,
      },
      {
        name: "--option",
        given: (run) => makeApp(run, { is: "empty" }),
        run: "map-route {name} {domain} -n {name} --option loadbalancing=round-robin",
        effect: routeIs({ options: { loadbalancing: "round-robin" } }),
      },
    ],
  },
  {
    command: "unmap-route",
    cases: [
      {
        name: "a mapped one",
        given: mappedRoute,
        run: "unmap-route {name} {domain} --hostname {name}",
        shows: ["Removing route {name}.{domain} from app {name} in org", "OK"],
        effect: routeIs({ destinations: [] }),
      },
      {
        name: "one that is not mapped",
        given: async (run) => [await makeApp(run, { is: "empty" }), await makeRoute(run)],
        run: "unmap-route {name} {domain} -n {name}",
        shows: ["Route to be unmapped is not currently mapped to the application."],
        effect: routeIs({ destinations: [] }),
      },
    ],
  },
  {
    command: "update-route",
    cases: [
      {
        name: "--option",
        given: (run) => makeRoute(run),
        run: "update-route {domain} -n {name} --option loadbalancing=least-connection",
        shows: ["Updating route {name}.{domain} for org", "Route {name}.{domain} has been updated"],
        effect: routeIs({ options: { loadbalancing: "least-connection" } }),
      },
      {
        name: "--remove-option",
        async given(run) {
          await makeRoute(run);
          await run.cf(
            "developer",
            "update-route",
            "apps.localhost",
            "-n",
            run.name,
            "-o",
            "loadbalancing=round-robin",
          );
        },
        run: "update-route {domain} -n {name} --remove-option loadbalancing",
        effect: routeIs({ options: {} }),
      },
      {
        name: "an option that does not exist",
        given: (run) => makeRoute(run),
        run: "update-route {domain} -n {name} --option loadbalancing=fastest",
        refused: ["must be one of 'round-robin, least-connection'"],
      },
    ],
  },
  {
    command: "update-destination",
    cases: [
      {
        name: "--app-protocol",
        given: mappedRoute,
        run: "update-destination {name} {domain} --hostname {name} --app-protocol http2",
        shows: ["Updating destination protocol from http1 to http2 for route {name}.{domain}", "OK"],
        effect: (run) => leadsTo(run, { protocol: "http2" }),
      },
    ],
  },
  {
    command: "delete-route",
    cases: [
      {
        name: "by a developer",
        given: (run) => makeRoute(run),
        run: "delete-route {domain} --hostname {name} -f",
        shows: ["Deleting route {name}.{domain}", "OK"],
        effect: routeGone,
      },
      {
        name: "one that is not there",
        run: "delete-route {domain} -n no-such -f",
        shows: [/Unable to delete\. Route with host 'no-such'|does not exist|not found/, "OK"],
        effect: routeGone,
      },
      {
        name: "by an auditor",
        as: "auditor",
        given: (run) => makeRoute(run),
        run: "delete-route {domain} -n {name} -f",
        refused: [FORBIDDEN],
        effect: routeIs({}),
      },
    ],
  },
  {
    command: "delete-orphaned-routes",
    cases: [
      {
        name: "only those without apps",
        alone: true,
        async given(run) {
          await mappedRoute(run);
          await makeRoute(run, `${run.name}-orphan`);
        },
        run: "delete-orphaned-routes -f",
        shows: ["Deleting orphaned routes as", "OK"],
        async effect(run) {
          expect(await findRoute(run, `${run.name}-orphan`)).toBeUndefined();
          await leadsTo(run);
        },
      },
    ],
  },
  {
    command: "share-route",
    cases: [
      {
        name: "with another space",
        as: "admin",
        given: sharing,
        run: "share-route {domain} --hostname {name} -s {name} -o {org}",
        shows: ["Sharing route {name}.{domain} to space {name} as admin", "OK"],
        effect: async (run) => expect(await sharedWith(run)).toEqual([(await getNamed(run, "spaces")).guid]),
      },
      {
        name: "with a space that is not there",
        as: "admin",
        given: sharing,
        run: "share-route {domain} -n {name} -s no-such-space",
        refused: ["Can not share route:"],
      },
      {
        name: "with a space in which the person has no role",
        given: sharing,
        run: "share-route {domain} -n {name} -s {name}",
        refused: ["Can not share route:"],
      },
    ],
  },
  {
    command: "unshare-route",
    cases: [
      {
        name: "from a space",
        as: "admin",
        given: share,
        run: "unshare-route {domain} --hostname {name} -s {name} -o {org}",
        shows: ["Unsharing route {name}.{domain} from space {name} as admin", "OK"],
        effect: async (run) => expect(await sharedWith(run)).toEqual([]),
      },
    ],
  },
  {
    command: "move-route",
    cases: [
      {
        name: "to another space, which shares it with the former one",
        as: "admin",
        given: sharing,
        run: "move-route {domain} --hostname {name} -s {name} -o {org}",
        shows: ["Move ownership of route {name}.{domain} to space {name} as admin", "OK"],
        async effect(run) {
          await routeIs({ relationships: { space: to((await findNamed(run, "spaces"))?.guid ?? "") } })(run);
          expect(await sharedWith(run)).toEqual([run.ground.spaceGUID]);
        },
      },
    ],
  },
];
