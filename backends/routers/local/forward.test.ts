// Requests through the router to real instances: answers that come early or in a way that node would not write, HTTP/2, sticky sessions.
import { createServer, type IncomingMessage, request, type RequestListener, type Server } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { afterEach, expect, test } from "vitest";
import { createPlaces } from "../../../kube/server/places.ts";
import type { Telemetry } from "../../../telemetry/telemetry.ts";
import { createDispatchers } from "./dispatchers.ts";
import { createEndpointChooser } from "./endpoint-chooser.ts";
import { beginExchange, type RouterContext } from "./exchange.ts";
import { forward } from "./forward.ts";
import { createRoutingTable, type Endpoint } from "./routing-table.ts";
import { forwardUpgrade } from "./upgrade.ts";
import { fixedKeyring } from "./testing/keyrings.ts";

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0)) await end();
});

type UpgradeListener = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

async function listen(listener: RequestListener, onUpgrade?: UpgradeListener): Promise<number> {
  const server: Server = createServer(listener);
  if (onUpgrade) server.on("upgrade", onUpgrade);
  await once(server.listen(0, "127.0.0.1"), "listening");
  endings.push(() => new Promise((resolve) => (server.close(resolve), server.closeAllConnections())));
  return (server.address() as AddressInfo).port;
}

type ServerStream = Parameters<NonNullable<Parameters<typeof createHttp2Server>[1]>>[0]["stream"];

/** A server of HTTP/2 without TLS. */
async function listenHttp2(listener: (stream: ServerStream, path: string) => void): Promise<number> {
  const server = createHttp2Server();
  server.on("request", ({ url }, { stream }) => listener(stream, url));
  await once(server.listen(0, "127.0.0.1"), "listening");
  endings.push(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** A router before the instances of one app, by their ports. */
async function routerTo(hostPorts: readonly number[], http2?: true, table = createRoutingTable()): Promise<number> {
  const target = { appGUID: "app", processType: "web", port: 8080 };
  const destinations = [{ ...target, app: "a", ...(http2 && { http2 }) }];
  table.setRoute("r", { guid: "r", space: "s", hostname: "a.test", path: "", destinations, order: "1" });
  const toEndpoint = (hostPort: number, index: number) =>
    ({ ...target, index, instanceGUID: `i${index}`, host: "127.0.0.1", hostPort }) as Endpoint;
  table.setEndpoints("lrp", hostPorts.map(toEndpoint));
  const telemetry = { log: () => undefined } as unknown as Telemetry;
  const context: RouterContext = {
    table,
    chooser: createEndpointChooser(),
    telemetry,
    isSynced: () => true,
    keyring: fixedKeyring(),
    servicePlaces: createPlaces(500),
  };
  const dispatchers = createDispatchers();
  endings.push(() => dispatchers.destroy());
  return listen(
    (req, res) => void forward(beginExchange(context, req), res, { dispatchers, requestTimeoutMs: 30_000 }),
    (req, socket, head) => void forwardUpgrade(beginExchange(context, req), socket, head),
  );
}

/** A request through a router before one app; not sent yet. */
async function requestTo(app: RequestListener, size: number) {
  const port = await routerTo([await listen(app)]);
  const headers = { host: "a.test", connection: "keep-alive", "content-length": String(size) };
  return request({ port, host: "127.0.0.1", method: "POST", headers, agent: false });
}

interface Call {
  method?: string;
  path?: string;
  headers?: Record<string, string>;
  body?: string;
}

async function call(port: number, { method = "GET", path = "/", headers = {}, body }: Call = {}) {
  const sent = request({
    port,
    host: "127.0.0.1",
    method,
    path,
    headers: { host: "a.test", ...headers },
    agent: false,
  });
  sent.end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  const content = await text(response);
  return {
    status: response.statusCode,
    reason: response.statusMessage,
    headers: response.headers,
    body: content,
    trailers: response.trailers,
  };
}

test("an answer before the end of the upload arrives, and the client may send the rest", async () => {
  const size = 4 << 20;
  const sent = await requestTo((_, res) => res.writeHead(413, { connection: "close" }).end("too large"), size);
  sent.write("first");
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  const finished = once(sent, "finish");
  sent.end(Buffer.alloc(size - "first".length));
  await finished;
  expect({ status: response.statusCode, body: await text(response) }).toEqual({ status: 413, body: "too large" });
});

test("a reason phrase that is not Latin-1 loses those characters only", async () => {
  const answer = "HTTP/1.1 200 fine \u2713\r\ncontent-length: 2\r\n\r\nok";
  const sent = await requestTo((_, res) => void res.socket?.end(answer), 0);
  sent.end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  expect([response.statusCode, response.statusMessage, await text(response)]).toEqual([200, "fine ?", "ok"]);
});

test("an app that speaks HTTP/2 gets it, with the body, and answers with all of its headers", async () => {
  const app = await listenHttp2((stream, path) => {
    stream.respond({ ":status": 201, "set-cookie": ["a=1", "b=2"], "x-own": "yes" });
    void text(stream).then((body) => stream.end(`${path} ${body}`));
  });
  const router = await routerTo([app], true);
  const answer = await call(router, { method: "POST", path: "/p?q=1", body: "payload" });
  expect(answer).toMatchObject({ status: 201, reason: "Created", body: "/p?q=1 payload" });
  expect(answer.headers).toMatchObject({ "set-cookie": ["a=1", "b=2"], "x-own": "yes" });
  expect(Object.keys(answer.headers)).not.toContain(":status");
});

test("an app without HTTP/2 behind a route that asks for it: 502", async () => {
  const router = await routerTo([await listen((_, res) => res.end("http1"))], true);
  expect((await call(router)).status).toBe(502);
});

test("an app that ends while it has the request, with no other instance: 502 with the reason", async () => {
  const table = createRoutingTable();
  const app = await listen((_, res) => {
    table.setEndpoints("lrp", []);
    res.socket?.destroy();
  });
  const answer = await call(await routerTo([app], undefined, table));
  expect(answer.status).toBe(502);
  expect(answer.body).toContain("closed the connection before it answered");
});

test("trailers of an answer arrive", async () => {
  const app = await listen((_, res) => {
    res.writeHead(200, { trailer: "x-sum" });
    res.write("body");
    res.addTrailers({ "x-sum": "7" });
    res.end();
  });
  expect(await call(await routerTo([app]))).toMatchObject({ body: "body", trailers: { "x-sum": "7" } });
});

test("a session stays with its instance, and moves with a new cookie when that is gone", async () => {
  const instance = (name: string) =>
    listen((req, res) => {
      if (req.url === "/login") res.setHeader("set-cookie", "JSESSIONID=s; Path=/");
      res.end(name);
    });
  const router = await routerTo([await instance("i0"), await instance("i1"), await instance("i2")]);
  const login = await call(router, { path: "/login" });
  expect(login.headers["set-cookie"]).toEqual(["JSESSIONID=s; Path=/", `__VCAP_ID__=${login.body}; Path=/; HttpOnly`]);
  for (let i = 0; i < 4; i++) {
    const again = await call(router, { headers: { cookie: `JSESSIONID=s; __VCAP_ID__=${login.body}` } });
    expect([again.body, again.headers["set-cookie"]]).toEqual([login.body, undefined]);
  }
  const moved = await call(router, { headers: { cookie: "JSESSIONID=s; __VCAP_ID__=gone" } });
  expect(moved.headers["set-cookie"]).toEqual([`__VCAP_ID__=${moved.body}; Path=/; HttpOnly`]);
});

test("a WebSocket whose handshake begins a session binds the client to its instance", async () => {
  const head = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n";
  const instance = await listen(
    (_req, res) => res.end(),
    (_req, socket) =>
      void socket
        .on("error", () => undefined)
        .resume()
        .end(`${head}Set-Cookie: JSESSIONID=s\r\n\r\n`),
  );
  const port = await routerTo([instance]);
  const headers = { host: "a.test", connection: "Upgrade", upgrade: "websocket" };
  const opening = request({ port, host: "127.0.0.1", headers, agent: false });
  opening.end();
  const [answer, socket] = (await once(opening, "upgrade")) as [IncomingMessage, Duplex];
  socket.destroy();
  expect(answer.headers["set-cookie"]).toEqual(["JSESSIONID=s", "__VCAP_ID__=i0; Path=/; HttpOnly"]);
});
