// `cf` for TCP: router groups, domains of them, and routes with a port, chosen or given.
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect } from "vitest";
import { chosenPlatformKind } from "../support/start-test-platform.ts";
import { eventually } from "../../eventually.ts";
import { makeApp } from "./support/apps.ts";
import type { CaseRun, CommandCases } from "./support/case.ts";
import { read } from "./support/objects.ts";

const GROUP = "default-tcp";
/** A Gateway has fewer listeners than a laptop has ports. */
const PORTS = chosenPlatformKind() === "node" ? { first: 20_000, count: 50 } : { first: 20_000, count: 100 };

interface Groups {
  guid: string;
  name: string;
}

const groupsOf = (run: CaseRun): Promise<Groups[]> => read<Groups[]>(run, "/routing/v1/router_groups");

/** A port that no route has now: others' cases take some at the same time. */
async function freePort(run: CaseRun): Promise<number> {
  const { resources } = await read<{ resources: { port: number | null }[] }>(run, "/v3/routes?per_page=1000");
  const taken = new Set(resources.map(({ port }) => port));
  const free = Array.from({ length: PORTS.count }, (_, at) => PORTS.first + at).filter((port) => !taken.has(port));
  return free[Math.floor(Math.random() * free.length)]!;
}

/** A shared domain `{name}.localhost` of the laptop's router group, as `{tcp}`, and a free port of it, as `{port}`. */
async function withDomain(run: CaseRun): Promise<void> {
  const [group] = await groupsOf(run);
  run.values["tcp"] = `${run.name}.localhost`;
  run.values["port"] = String(await freePort(run));
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

/** The app's answer to raw bytes at the port; empty where the router closes the connection. */
async function answerAt(run: CaseRun): Promise<string> {
  const socket = connect(Number(run.values["port"]), run.ground.stage.tcpHost);
  socket.setTimeout(5_000, () => socket.destroy());
  socket.write("GET / HTTP/1.0\r\n\r\n");
  return text(socket);
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
        run: "router-groups",
        shows: [/default-tcp\s+tcp/],
        effect: async (run) =>
          expect(await groupsOf(run)).toMatchObject([
            { name: GROUP, type: "tcp", reservable_ports: `${PORTS.first}-${PORTS.first + PORTS.count - 1}` },
          ]),
      },
    ],
  },
  {
    command: "create-shared-domain",
    cases: [
      {
        name: "--router-group",
        as: "admin",
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
        given: withDomain,
        run: "create-route {tcp} --port {port}",
        shows: ["Creating route {tcp}:{port} for org {org}", "Route {tcp}:{port} has been created."],
        effect: hasPort,
      },
      {
        name: "of TCP without a port, which gets one",
        given: withDomain,
        run: "create-route {tcp}",
        shows: [/Route .*\.localhost:200\d\d has been created\./],
        effect: async (run) => expect(await portsOf(run)).toHaveLength(1),
      },
      {
        name: "--port that the router does not offer",
        given: withDomain,
        run: "create-route {tcp} --port 80",
        refused: ["Port '80' is not available. Try a different port or use a different domain."],
      },
      {
        name: "--port of another domain of the same router",
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
        given: withRoute,
        run: "delete-route {tcp} --port {port} -f",
        shows: ["Deleting route {tcp}:{port}", "OK"],
        effect: async (run) => expect(await portsOf(run)).toEqual([]),
      },
    ],
  },
];
