// `cf` for TCP: router groups, domains of them, and routes with a port, chosen or given.
import { once } from "node:events";
import { connect } from "node:net";
import { expect } from "vitest";
import { eventually } from "../../eventually.ts";
import { makeApp } from "./support/apps.ts";
import type { CaseRun, CommandCases } from "./support/case.ts";
import { read } from "./support/objects.ts";

const LAPTOP_ONLY = "the routers of a cluster serve no TCP routes yet";
const GROUP = "default-tcp";
const PORTS = { first: 20_000, count: 100 };

interface Groups {
  guid: string;
  name: string;
}

const groupsOf = (run: CaseRun): Promise<Groups[]> => read<Groups[]>(run, "/routing/v1/router_groups");
const anyPort = (): number => PORTS.first + Math.floor(Math.random() * PORTS.count);

/** A shared domain `{name}.localhost` of the laptop's router group, as `{tcp}`, and a free port of it, as `{port}`. */
async function withDomain(run: CaseRun): Promise<void> {
  const [group] = await groupsOf(run);
  run.values["tcp"] = `${run.name}.localhost`;
  run.values["port"] = String(anyPort());
  const { guid } = await run.ground.api.admin.call("POST", "/v3/domains", {
    name: run.values["tcp"],
    router_group: { guid: group?.guid },
  });
  run.values["tcpGUID"] = guid;
}

const makeRoute = (run: CaseRun, body: object = {}): Promise<{ guid: string; port: number }> =>
  run.ground.api.admin.call("POST", "/v3/routes", {
    relationships: {
      space: { data: { guid: run.ground.spaceGUID } },
      domain: { data: { guid: run.values["tcpGUID"] } },
    },
    ...body,
  });

async function withRoute(run: CaseRun): Promise<void> {
  await withDomain(run);
  const { port } = await makeRoute(run);
  run.values["port"] = String(port);
}

async function portsOf(run: CaseRun): Promise<number[]> {
  const { resources } = await read<{ resources: { port: number }[] }>(
    run,
    `/v3/routes?domain_guids=${run.values["tcpGUID"]}`,
  );
  return resources.map(({ port }) => port);
}

const hasPort = async (run: CaseRun): Promise<void> => expect(await portsOf(run)).toEqual([Number(run.values["port"])]);

/** The app's answer to raw bytes at the port. */
async function answerAt(run: CaseRun): Promise<string> {
  const socket = connect(Number(run.values["port"]), "127.0.0.1");
  socket.end("GET / HTTP/1.0\r\n\r\n");
  const [data] = (await once(socket, "data")) as [Buffer];
  return data.toString();
}
const answersByTCP = (run: CaseRun): Promise<void> =>
  eventually(async () => expect(await answerAt(run)).toMatch(/^HTTP\/1\.1 200/));

export const TCP_ROUTE_CASES: readonly CommandCases[] = [
  {
    command: "router-groups",
    cases: [
      {
        name: "that of a router with TCP ports",
        as: "admin",
        laptopOnly: LAPTOP_ONLY,
        run: "router-groups",
        shows: [/default-tcp\s+tcp/],
        effect: async (run) =>
          expect(await groupsOf(run)).toMatchObject([{ name: GROUP, type: "tcp", reservable_ports: "20000-20099" }]),
      },
    ],
  },
  {
    command: "create-shared-domain",
    cases: [
      {
        name: "--router-group",
        as: "admin",
        laptopOnly: LAPTOP_ONLY,
        run: "create-shared-domain {name}.localhost --router-group default-tcp",
        shows: ["Creating shared domain {name}.localhost as admin...", "OK"],
        effect: async (run) => {
          const { resources } = await read<{ resources: object[] }>(run, `/v3/domains?names=${run.name}.localhost`);
          const [group] = await groupsOf(run);
          expect(resources).toMatchObject([{ router_group: { guid: group?.guid }, supported_protocols: ["tcp"] }]);
        },
      },
      {
        name: "--router-group that is not there",
        as: "admin",
        laptopOnly: LAPTOP_ONLY,
        run: "create-shared-domain {name}.localhost --router-group no-such-group",
        refused: ["Router group 'no-such-group' not found."],
      },
    ],
  },
  {
    command: "create-route",
    cases: [
      {
        name: "--port",
        laptopOnly: LAPTOP_ONLY,
        given: withDomain,
        run: "create-route {tcp} --port {port}",
        shows: ["Creating route {tcp}:{port} for org {org}", "Route {tcp}:{port} has been created."],
        effect: hasPort,
      },
      {
        name: "of TCP without a port, which gets one",
        laptopOnly: LAPTOP_ONLY,
        given: withDomain,
        run: "create-route {tcp}",
        shows: [/Route .*\.localhost:200\d\d has been created\./],
        effect: async (run) => expect(await portsOf(run)).toHaveLength(1),
      },
      {
        name: "--port that the router does not offer",
        laptopOnly: LAPTOP_ONLY,
        given: withDomain,
        run: "create-route {tcp} --port 80",
        refused: ["Port '80' is not available. Try a different port or use a different domain."],
      },
      {
        name: "--port of another domain of the same router",
        laptopOnly: LAPTOP_ONLY,
        given: async (run) => {
          await withRoute(run);
          const [group] = await groupsOf(run);
          const other = { name: `other-${run.name}.localhost`, router_group: { guid: group?.guid } };
          await run.ground.api.admin.call("POST", "/v3/domains", other);
        },
        run: "create-route other-{name}.localhost --port {port}",
        refused: [/Port '200\d\d' is not available\. Try a different port or use a different domain\./],
      },
      {
        name: "--hostname in a domain of TCP",
        laptopOnly: LAPTOP_ONLY,
        given: withDomain,
        run: "create-route {tcp} --hostname shop",
        refused: ["Routes with protocol 'tcp' do not support paths or hosts."],
      },
    ],
  },
  {
    command: "map-route",
    cases: [
      {
        name: "--port",
        laptopOnly: LAPTOP_ONLY,
        given: async (run) => {
          await withRoute(run);
          await makeApp(run);
        },
        run: "map-route {name} {tcp} --port {port}",
        shows: ["Mapping route {tcp}:{port} to app {name}", "OK"],
        effect: answersByTCP,
      },
    ],
  },
  {
    command: "delete-route",
    cases: [
      {
        name: "--port",
        laptopOnly: LAPTOP_ONLY,
        given: withRoute,
        run: "delete-route {tcp} --port {port} -f",
        shows: ["Deleting route {tcp}:{port}", "OK"],
        effect: async (run) => expect(await portsOf(run)).toEqual([]),
      },
    ],
  },
];
