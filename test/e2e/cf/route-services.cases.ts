// `cf bind-route-service` and `cf unbind-route-service`: requests of a route go through a service that marks their answers.
import { once } from "node:events";
import { createServer, request, type IncomingMessage, type RequestListener } from "node:http";
import { createServer as createTLSServer } from "node:https";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect } from "vitest";
import { eventually } from "../../eventually.ts";
import type { TestPlatform } from "../support/test-platform.ts";
import { makeApp } from "./support/apps.ts";
import type { CaseRun, CommandCases } from "./support/case.ts";

const FORWARDED = ["x-cf-forwarded-url", "x-cf-proxy-signature", "x-cf-proxy-metadata"];

/** Sends every request back to the platform's router, and marks the answer. It ends with the test's process. */
async function startMarker({ port, hostAddress, routeServiceTLS }: TestPlatform): Promise<string> {
  const mark: RequestListener = (incoming, response) => {
    const url = new URL(String(incoming.headers["x-cf-forwarded-url"]));
    const headers = Object.fromEntries(FORWARDED.map((name) => [name, String(incoming.headers[name])]));
    const back = request({ host: "127.0.0.1", port, path: url.pathname, headers: { ...headers, host: url.host } });
    back.on("error", (error) => response.writeHead(500).end(error.message));
    back.on("response", (answer: IncomingMessage) => {
      void text(answer).then((body) => response.writeHead(answer.statusCode ?? 500).end(`marked: ${body}`));
    });
    back.end();
  };
  const host = routeServiceTLS ? hostAddress : "127.0.0.1";
  const server = (routeServiceTLS ? createTLSServer(routeServiceTLS, mark) : createServer(mark))
    .listen(0, host)
    .unref();
  await once(server, "listening");
  const at = (server.address() as AddressInfo).port;
  return routeServiceTLS ? `https://${hostAddress}:${at}` : `http://marker.localhost:${at}`;
}

/** An app with a route, and a user-provided instance `{name}-marker` with the address of a route service. */
async function withMarker(run: CaseRun): Promise<void> {
  await makeApp(run);
  const url = await startMarker(run.ground.stage);
  await run.cf("developer", "create-user-provided-service", `${run.name}-marker`, "-r", url);
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
        given: withMarker,
        run: "bind-route-service {domain} --hostname {name} {name}-marker",
        shows: ["Binding route {name}.{domain} to service instance {name}-marker", "OK"],
        effect: answersMarked,
      },
      {
        name: "a route that is bound to it already",
        given: withBinding,
        run: "bind-route-service {domain} --hostname {name} {name}-marker",
        shows: ["Route {name}.{domain} is already bound to service instance {name}-marker.", "OK"],
        effect: answersMarked,
      },
      {
        name: "an instance that is no route service",
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
        given: withBinding,
        run: "unbind-route-service {domain} --hostname {name} {name}-marker -f",
        shows: ["Unbinding route", "OK"],
        effect: answersUnmarked,
      },
      {
        name: "a route that is not bound",
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
        given: withBinding,
        run: "routes",
        shows: ["{name}-marker"],
        effect: answersMarked,
      },
    ],
  },
];
