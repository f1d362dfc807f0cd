// `cf bind-route-service` and `cf unbind-route-service`: requests of a route go through a service that marks their answers.
import { once } from "node:events";
import { createServer, request, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect } from "vitest";
import { eventually } from "../../eventually.ts";
import { makeApp } from "./support/apps.ts";
import type { CaseRun, CommandCases } from "./support/case.ts";

const LAPTOP_ONLY = "the routers of a cluster have no route services yet";
const FORWARDED = ["x-cf-forwarded-url", "x-cf-proxy-signature", "x-cf-proxy-metadata"];

/** Sends every request back to the platform's router, and marks the answer. It ends with the test's process. */
function startMarker(port: number): Promise<Server> {
  const server = createServer((incoming, response) => {
    const url = new URL(String(incoming.headers["x-cf-forwarded-url"]));
    const headers = Object.fromEntries(FORWARDED.map((name) => [name, String(incoming.headers[name])]));
    const back = request({ host: "127.0.0.1", port, path: url.pathname, headers: { ...headers, host: url.host } });
    back.on("error", (error) => response.writeHead(500).end(error.message));
    back.on("response", (answer: IncomingMessage) => {
      void text(answer).then((body) => response.writeHead(answer.statusCode ?? 500).end(`marked: ${body}`));
    });
    back.end();
  })
    .listen(0, "127.0.0.1")
    .unref();
  return once(server, "listening").then(() => server);
}

/** An app with a route, and a user-provided instance `{name}-marker` with the address of a route service. */
async function withMarker(run: CaseRun): Promise<void> {
  await makeApp(run);
  const { port } = (await startMarker(run.ground.stage.port)).address() as AddressInfo;
  await run.cf(
    "developer",
    "create-user-provided-service",
    `${run.name}-marker`,
    "-r",
    `http://marker.localhost:${port}`,
  );
}

async function withBinding(run: CaseRun): Promise<void> {
  await withMarker(run);
  await run.cf(
    "developer",
    "bind-route-service",
    run.values["domain"] ?? "",
    "--hostname",
    run.name,
    `${run.name}-marker`,
  );
  await answersMarked(run);
}

const answerOf = async (run: CaseRun): Promise<string> =>
  (await run.ground.stage.get(`${run.name}.${run.values["domain"]}`)).body;
const answersMarked = (run: CaseRun): Promise<void> =>
  eventually(async () => expect(await answerOf(run)).toMatch(/^marked: ./));
const answersUnmarked = (run: CaseRun): Promise<void> =>
  eventually(async () => expect(await answerOf(run)).not.toMatch(/marked|Not Found/));

export const ROUTE_SERVICE_CASES: readonly CommandCases[] = [
  {
    command: "bind-route-service",
    cases: [
      {
        name: "requests go through the service",
        laptopOnly: LAPTOP_ONLY,
        given: withMarker,
        run: "bind-route-service {domain} --hostname {name} {name}-marker",
        shows: ["Binding route {name}.{domain} to service instance {name}-marker", "OK"],
        effect: answersMarked,
      },
      {
        name: "a route that is bound to it already",
        laptopOnly: LAPTOP_ONLY,
        given: withBinding,
        run: "bind-route-service {domain} --hostname {name} {name}-marker",
        shows: ["Route {name}.{domain} is already bound to service instance {name}-marker.", "OK"],
        effect: answersMarked,
      },
      {
        name: "an instance that is no route service",
        laptopOnly: LAPTOP_ONLY,
        given: async (run) => {
          await makeApp(run);
          await run.cf("developer", "create-user-provided-service", `${run.name}-plain`);
        },
        run: "bind-route-service {domain} --hostname {name} {name}-plain",
        refused: ["This service instance does not support route binding."],
        effect: answersUnmarked,
      },
    ],
  },
  {
    command: "unbind-route-service",
    cases: [
      {
        name: "-f",
        laptopOnly: LAPTOP_ONLY,
        given: withBinding,
        run: "unbind-route-service {domain} --hostname {name} {name}-marker -f",
        shows: ["Unbinding route", "OK"],
        effect: answersUnmarked,
      },
      {
        name: "a route that is not bound",
        laptopOnly: LAPTOP_ONLY,
        given: withMarker,
        run: "unbind-route-service {domain} --hostname {name} {name}-marker -f",
        shows: ["OK"],
        effect: answersUnmarked,
      },
    ],
  },
  {
    command: "routes",
    cases: [
      {
        name: "with the name of a route service",
        laptopOnly: LAPTOP_ONLY,
        given: withBinding,
        run: "routes",
        shows: ["{name}-marker"],
        effect: answersMarked,
      },
    ],
  },
];
