// Requests of a route with a route service: first to the service, then back, and to the app; forged, old and foreign signatures.
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import WebSocket from "ws";
import type { LRP } from "../../../crds/lrp/lrp.ts";
import type { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import { createListener } from "../../../kube/server/listener.ts";
import { createPlaces } from "../../../kube/server/places.ts";
import { createTelemetry } from "../../../telemetry/telemetry.ts";
import { createDispatchers, type Dispatchers } from "./dispatchers.ts";
import { createEndpointChooser } from "./endpoint-chooser.ts";
import { beginExchange, type RouterContext } from "./exchange.ts";
import { forward } from "./forward.ts";
import { signRequest } from "./route-service-signature.ts";
import { createRoutingTable } from "./routing-table.ts";
import { toEndpoints, toRouteEntry } from "./to-routing-entries.ts";
import { aKey, fixedKeyring } from "./testing/keyrings.ts";
import { forwardUpgrade } from "./upgrade.ts";

const [key, previous] = [aKey(), aKey()];
const HEADERS = ["x-cf-forwarded-url", "x-cf-proxy-signature", "x-cf-proxy-metadata"];

const servers: Server[] = [];
let dispatchers: Dispatchers;
let table: ReturnType<typeof createRoutingTable>;
let edge: number;
/** Requests that the app got. */
let seen: IncomingMessage[];

async function serve(listener: RequestListener): Promise<number> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

beforeEach(async () => {
  seen = [];
  table = createRoutingTable();
  dispatchers = createDispatchers();
  const context: RouterContext = {
    table,
    chooser: createEndpointChooser(),
    telemetry: createTelemetry(),
    isSynced: () => true,
    keyring: fixedKeyring({ current: key, previous }),
    servicePlaces: createPlaces(500),
  };
  const server = createListener({ share: 0.1, acceptsWebSocket: () => true }, (incoming, response) => {
    void forward(beginExchange(context, incoming), response, { dispatchers, requestTimeoutMs: 10_000 });
  });
  server.on("upgrade", (incoming, socket, head) => void forwardUpgrade(beginExchange(context, incoming), socket, head));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  servers.push(server as unknown as Server);
  edge = (server.address() as AddressInfo).port;
  const hostPort = await serve((incoming, response) => (seen.push(incoming), response.end("app")));
  table.setEndpoints("lrp", toEndpoints(anLRP(hostPort)));
});
afterEach(async () => {
  await dispatchers.destroy();
  for (const server of servers.splice(0)) server.close(() => undefined).closeAllConnections();
});

const anLRP = (hostPort: number) =>
  ({
    metadata: { name: "l", namespace: "n", uid: "l" },
    spec: { app: { guid: "app", name: "shop" }, processGUID: "p", processType: "web", instances: 1 },
    status: {
      instances: [
        { index: 0, state: "Running", ready: true, guid: "i", host: "127.0.0.1", ports: [{ port: 8080, hostPort }] },
      ],
    },
  }) as unknown as LRP;

function bind(url: string, hostname = "shop.test"): void {
  const binding = {
    metadata: { name: "r", namespace: "n" },
    spec: {
      class: "local",
      routeGUID: `route-of-${hostname}`,
      hostname,
      path: "",
      port: 0,
      internal: false,
      destinations: [{ appGUID: "app", app: "shop", processType: "web", port: 8080, protocol: "http1" }],
      routeService: { url },
    },
  };
  table.setRoute(hostname, toRouteEntry(binding as unknown as RouteBinding));
}

interface Sent {
  host?: string;
  path?: string;
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}
async function send({ host = "shop.test", path = "/cart?id=1", method = "GET", headers = {}, body }: Sent = {}) {
  const sent = request({ port: edge, host: "127.0.0.1", path, method, headers: { host, ...headers }, agent: false });
  sent.end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return { status: response.statusCode, error: response.headers["x-cf-routererror"], body: await text(response) };
}

/** A service that sends every request back as it should, and keeps what it got. */
async function aService(): Promise<{ port: number; got: IncomingMessage[] }> {
  const got: IncomingMessage[] = [];
  const port = await serve((incoming, response) => {
    got.push(incoming);
    const url = new URL(String(incoming.headers["x-cf-forwarded-url"]));
    const headers = Object.fromEntries(HEADERS.map((name) => [name, String(incoming.headers[name])]));
    void text(incoming)
      .then((body) =>
        send({ host: url.host, path: url.pathname + url.search, method: incoming.method ?? "", headers, body }),
      )
      .then((answer) => response.writeHead(answer.status ?? 500).end(`service(${answer.body})`));
  });
  return { port, got };
}

const signed = (now: number, url = "http://shop.test/cart?id=1", routeGUID = "route-of-shop.test", by = key) => {
  const { signature, metadata } = signRequest({ url, routeGUID }, by, now);
  return { "x-cf-forwarded-url": url, "x-cf-proxy-signature": signature, "x-cf-proxy-metadata": metadata };
};

test("a request goes to the service, comes back with its signature, and reaches the app without it", async () => {
  const { port, got } = await aService();
  bind(`http://logger.apps.localhost:${port}/in?from=router`);
  expect(await send({ method: "POST", body: "order" })).toMatchObject({ status: 200, body: "service(app)" });
  expect(got.map(({ method, url, headers }) => [method, url, headers.host])).toEqual([
    ["POST", "/in?from=router", `logger.apps.localhost:${port}`],
  ]);
  expect(got[0]?.headers["x-cf-forwarded-url"]).toBe("http://shop.test/cart?id=1");
  expect(seen.map(({ method, url, headers }) => [method, url, headers.host])).toEqual([
    ["POST", "/cart?id=1", "shop.test"],
  ]);
  for (const name of HEADERS) expect(seen[0]?.headers).not.toHaveProperty(name);
});

test.each([
  ["a valid signature reaches the app", () => signed(Date.now()), 200],
  ["an old one", () => signed(Date.now() - 61_000), 504],
  ["one of another URL", () => signed(Date.now(), "http://shop.test/admin"), 502],
  ["one of another route", () => signed(Date.now(), undefined, "route-of-other.test"), 502],
  ["one of another installation", () => signed(Date.now(), undefined, undefined, aKey()), 502],
  ["one by the previous key", () => signed(Date.now(), undefined, undefined, previous), 200],
  ["a forged one", () => ({ ...signed(Date.now()), "x-cf-proxy-signature": "Zm9yZ2Vk" }), 502],
  ["one without its metadata", () => ({ ...signed(Date.now()), "x-cf-proxy-metadata": "" }), 502],
  ["one with another forwarded URL", () => ({ ...signed(Date.now()), "x-cf-forwarded-url": "http://shop.test/" }), 502],
] as const)("%s", async (_what, headers, status) => {
  bind("http://nowhere.localhost:1");
  expect((await send({ headers: headers() })).status).toBe(status);
  expect(seen).toHaveLength(status === 200 ? 1 : 0);
});

test("a service that is down is 502, and the app is not reached", async () => {
  bind("http://logger.apps.localhost:1");
  const { status, error } = await send();
  expect([status, error]).toEqual([502, expect.stringContaining("connection refused")]);
  expect(seen).toEqual([]);
});

test("a service that answers itself answers the client", async () => {
  const port = await serve((_incoming, response) => response.writeHead(401).end("no"));
  bind(`http://guard.apps.localhost:${port}`);
  expect(await send()).toMatchObject({ status: 401, body: "no" });
  expect(seen).toEqual([]);
});

test("a client's own headers are replaced, so that nobody chooses the forwarded URL", async () => {
  const { port, got } = await aService();
  bind(`http://logger.apps.localhost:${port}`);
  await send({ headers: { "x-cf-forwarded-url": "http://evil.test/" } });
  expect(got[0]?.headers["x-cf-forwarded-url"]).toBe("http://shop.test/cart?id=1");
});

test("a route that is its own service does not go around in circles", async () => {
  bind(`http://shop.localhost:${edge}`);
  bind(`http://shop.localhost:${edge}`, "shop.localhost");
  expect((await send()).status).toBe(502);
});

test("a WebSocket is 503", async () => {
  bind("http://logger.apps.localhost:1");
  const socket = new WebSocket(`ws://127.0.0.1:${edge}/`, { headers: { host: "shop.test" } });
  const [error] = (await once(socket, "error")) as [Error];
  expect(error.message).toContain("503");
});
