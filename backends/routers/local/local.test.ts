// The router with real servers and clients behind and before it: streaming, headers, retries, WebSockets, pages, log lines.
import { createServer, type IncomingMessage, request, type RequestListener, type Server } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { once } from "node:events";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import WebSocket, { WebSocketServer } from "ws";
import type { LRP } from "../../../crds/lrp/lrp.ts";
import type { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import { createListener, type Listener } from "../../../kube/server/listener.ts";
import { createTelemetry } from "../../../telemetry/telemetry.ts";
import { maxRequestsPerInstance } from "./endpoint-chooser.ts";
import { createLocalRouter, type LocalRouter } from "./local.ts";
import { fakeWatches } from "./testing/fake-watches.ts";
import { fixedKeyring } from "./testing/keyrings.ts";

const binding = (
  hostname: string,
  path = "",
  destinations = [{ appGUID: "app-guid", app: "shop", processType: "web", port: 8080, protocol: "http1" }],
) =>
  ({
    apiVersion: "",
    kind: "RouteBinding",
    metadata: { name: "r", namespace: "n", uid: `route-${hostname}${path}` },
    spec: {
      class: "local",
      routeGUID: `route-${hostname}${path}`,
      hostname,
      path,
      port: 0,
      internal: false,
      destinations,
    },
  }) as unknown as RouteBinding;
const lrp = (ports: number[], spec: Partial<LRP["spec"]> = {}, uid = "lrp-1") =>
  ({
    apiVersion: "",
    kind: "LRP",
    metadata: { name: "l", namespace: "n", uid },
    spec: {
      app: { guid: "app-guid", name: "shop" },
      processGUID: "process-guid",
      processType: "web",
      instances: ports.length,
      ...spec,
    },
    status: {
      instances: ports.map((hostPort, index) => ({
        index,
        state: "Running",
        ready: true,
        host: "127.0.0.1",
        ports: [{ port: 8080, hostPort }],
        guid: `${uid}-${index}`,
      })),
    },
  }) as unknown as LRP;

const servers: (Server | Listener)[] = [];
async function listen(server: Server | Listener): Promise<number> {
  servers.push(server);
  await once(server.listen(0, "127.0.0.1"), "listening");
  return (server.address() as AddressInfo).port;
}
const app = (handler: RequestListener) => listen(createServer(handler));
async function unusedPort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

let router: LocalRouter;
let put: ReturnType<typeof fakeWatches>["put"];
let telemetry: ReturnType<typeof createTelemetry>;
let edge: number;
beforeEach(() => startRouter({ requestTimeoutMs: 30_000 }));
async function startRouter({ requestTimeoutMs }: { requestTimeoutMs: number }): Promise<void> {
  const fake = fakeWatches();
  telemetry = createTelemetry();
  put = fake.put;
  router = createLocalRouter({ ...fake, telemetry, keyring: fixedKeyring(), requestTimeoutMs });
  const server = createListener({ share: 0.1, acceptsWebSocket: () => true }, router.handleRequest);
  server.on("upgrade", router.handleUpgrade);
  edge = await listen(server);
  router.start();
}
afterEach(async () => {
  await router.stop();
  await Promise.all(
    servers.splice(0).map((server) => new Promise((resolve) => (server.close(resolve), server.closeAllConnections()))),
  );
});

interface Call {
  host?: string;
  path?: string;
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}
async function call({ host = "shop.test", path = "/", method = "GET", headers = {}, body }: Call = {}) {
  const sent = request({ port: edge, host: "127.0.0.1", path, method, headers: { host, ...headers }, agent: false });
  sent.end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return { status: response.statusCode, headers: response.headers, body: await text(response) };
}
const lines = () =>
  telemetry.ring.read("app-guid", {}).map((envelope) => Buffer.from(envelope.log.payload, "base64").toString());

describe("a routed request", () => {
  it("carries gorouter's headers, its own path, and the client's host", async () => {
    put(binding("shop.test", "/api"));
    put(lrp([await app((req, res) => res.end(JSON.stringify({ url: req.url, headers: req.headers })))]));
    const answer = await call({
      path: "/api/x?y=1",
      headers: {
        "x-forwarded-for": "10.0.0.1",
        "x-cf-applicationid": "forged",
        connection: "x-secret",
        "x-secret": "1",
        "x-kept": "2",
      },
    });
    const seen = JSON.parse(answer.body) as { url: string; headers: Record<string, string> };
    expect(seen.url).toBe("/api/x?y=1");
    expect(seen.headers).toMatchObject({
      host: "shop.test",
      "x-kept": "2",
      "x-forwarded-for": "10.0.0.1, 127.0.0.1",
      "x-forwarded-proto": "http",
      "x-cf-applicationid": "app-guid",
      "x-cf-instanceid": "lrp-1-0",
      "x-cf-instanceindex": "0",
      "x-request-start": expect.stringMatching(/^\d{13}$/) as string,
    });
    expect(seen.headers).not.toHaveProperty("x-secret");
    expect(seen.headers["x-vcap-request-id"]).toBe(answer.headers["x-vcap-request-id"]);
  });

  it("streams both ways", async () => {
    put(binding("shop.test"));
    put(lrp([await app((req, res) => req.pipe(res))]));
    const sent = request({
      port: edge,
      host: "127.0.0.1",
      method: "POST",
      headers: { host: "shop.test" },
      agent: false,
    });
    sent.write("first");
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    expect(String((await once(response, "data"))[0])).toBe("first");
    sent.end("last");
    expect(await text(response)).toBe("last");
  });

  it("goes round the instances, and to the one that is asked for", async () => {
    put(binding("shop.test"));
    put(lrp([await app((_, res) => res.end("0")), await app((_, res) => res.end("1"))]));
    const bodies = [await call(), await call(), await call(), await call()].map((answer) => answer.body);
    expect(bodies.sort().join("")).toBe("0011");
    for (const index of ["0", "1", "1"])
      expect((await call({ headers: { "x-cf-app-instance": `app-guid:${index}` } })).body).toBe(index);
    expect(await call({ headers: { "x-cf-app-instance": "app-guid:7" } })).toMatchObject({
      status: 400,
      headers: { "x-cf-routererror": "unknown_route" },
    });
    expect(await call({ headers: { "x-cf-app-instance": "nonsense" } })).toMatchObject({
      status: 400,
      headers: { "x-cf-routererror": "invalid_cf_app_instance_header" },
    });
  });

  it("passes over an instance that refuses, with its body", async () => {
    put(binding("shop.test"));
    put(
      lrp([
        await unusedPort(),
        await unusedPort(),
        await app((req, res) => void text(req).then((body) => res.end(body))),
      ]),
    );
    for (let i = 0; i < 4; i++)
      expect(await call({ method: "POST", body: "payload" })).toMatchObject({ status: 200, body: "payload" });
  });

  it("keeps what HTTP is particular about", async () => {
    put(binding("shop.test"));
    put(
      lrp([
        await app((req, res) => {
          if (req.url === "/cookies") res.setHeader("set-cookie", ["a=1", "b=2"]);
          if (req.url === "/head") res.setHeader("content-length", "1234");
          if (req.url === "/status") res.writeHead(299, "Fine Indeed");
          if (req.url === "/none") res.writeHead(204);
          res.end();
        }),
      ]),
    );
    expect((await call({ path: "/cookies" })).headers["set-cookie"]).toEqual(["a=1", "b=2"]);
    expect(await call({ path: "/head", method: "HEAD" })).toMatchObject({
      status: 200,
      body: "",
      headers: { "content-length": "1234" },
    });
    expect((await call({ path: "/none" })).status).toBe(204);
    const socket = connect(edge, "127.0.0.1");
    socket.write("GET /status HTTP/1.0\r\nHost: shop.test\r\n\r\n");
    expect(await text(socket)).toMatch(/^HTTP\/1.1 299 Fine Indeed\r\n/);
  });

  it("sends the head before the body, and tells the instance when the client leaves", async () => {
    let left: (() => void) | undefined;
    const gone = new Promise<void>((resolve) => (left = resolve));
    put(binding("shop.test"));
    put(lrp([await app((_, res) => (res.flushHeaders(), res.on("close", () => left?.())))]));
    const sent = request({ port: edge, host: "127.0.0.1", headers: { host: "shop.test" }, agent: false });
    sent.on("error", () => undefined);
    sent.end();
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    response.on("error", () => undefined);
    sent.destroy();
    await gone;
    await vi.waitFor(() => expect(lines()).toHaveLength(1));
  });

  it("waits for 100-continue as its client does", async () => {
    put(binding("shop.test"));
    put(lrp([await app((req, res) => void text(req).then((body) => res.end(body)))]));
    const sent = request({
      port: edge,
      host: "127.0.0.1",
      method: "PUT",
      headers: { host: "shop.test", expect: "100-continue", "content-length": "5" },
      agent: false,
    });
    sent.flushHeaders();
    await once(sent, "continue");
    sent.end("hello");
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    expect(await text(response)).toBe("hello");
  });

  it("survives instances that close idle connections", async () => {
    const server = createServer((req, res) => res.end(req.method));
    server.keepAliveTimeout = 1;
    server.keepAliveTimeoutBuffer = 0;
    put(binding("shop.test"));
    put(lrp([await listen(server)]));
    for (let i = 0; i < 60; i++) expect((await call()).body).toBe("GET");
  });

  it("is not lost while a new version takes over", async () => {
    put(binding("shop.test"));
    const [old, next] = [
      createServer((_, res) => setTimeout(() => res.end("old"), 20)),
      createServer((_, res) => res.end("new")),
    ];
    put(lrp([await listen(old)], {}, "old"));
    const results: Promise<string>[] = [];
    for (let i = 0; i < 40; i++) {
      results.push(call().then((answer) => `${answer.status} ${answer.body}`));
      if (i === 5) await results[0];
      if (i === 10) put(lrp([await listen(next)], {}, "new"));
      if (i === 20) put(lrp([], {}, "old"), "deleted");
      if (i === 30) old.close();
    }
    const seen = new Set(await Promise.all(results));
    expect([...seen].sort()).toEqual(["200 new", "200 old"]);
  });

  it("takes no instance that is scaled away or to be restarted", async () => {
    put(binding("shop.test"));
    const ports = [await app((_, res) => res.end("0")), await app((_, res) => res.end("1"))];
    put(lrp(ports, { instances: 1 }));
    expect([(await call()).body, (await call()).body]).toEqual(["0", "0"]);
    put(lrp(ports, { restartInstances: { "0": "x" } }));
    expect([(await call()).body, (await call()).body]).toEqual(["1", "1"]);
  });
});

describe("pages and log lines", () => {
  it("say which of route, app and instance is missing", async () => {
    put(binding("no-app.test", "", []));
    put(binding("shop.test"));
    expect(await call({ host: "nowhere.test" })).toMatchObject({
      status: 404,
      headers: { "x-cf-routererror": "unknown_route" },
      body: "404 Not Found: Requested route ('nowhere.test') does not exist.\n",
    });
    expect(await call({ host: "no-app.test" })).toMatchObject({
      status: 404,
      headers: { "x-cf-routererror": "no_endpoints" },
      body: expect.stringContaining("mapped to no app") as string,
    });
    expect(await call()).toMatchObject({
      status: 404,
      headers: { "x-cf-routererror": "no_endpoints" },
      body: expect.stringContaining("app shop, which has no instance that is ready") as string,
    });
    const port = await unusedPort();
    put(lrp([port]));
    expect(await call()).toMatchObject({
      status: 502,
      headers: { "x-cf-routererror": `endpoint_failure (dial tcp 127.0.0.1:${port}: connection refused)` },
      body: expect.stringContaining("App shop, instance 0") as string,
    });
  });

  it("tell an instance that breaks off or is too slow", async () => {
    await router.stop();
    await startRouter({ requestTimeoutMs: 300 });
    put(binding("shop.test"));
    put(lrp([await app((req, res) => (req.url === "/slow" ? undefined : res.socket?.destroy()))]));
    expect(await call({ method: "POST", body: "x" })).toMatchObject({
      status: 502,
      body: expect.stringContaining("closed the connection before it answered") as string,
    });
    expect(await call({ path: "/slow" })).toMatchObject({ status: 504 });
  });

  it("refuse headers without end", async () => {
    const socket = connect(edge, "127.0.0.1");
    socket.write(`GET / HTTP/1.1\r\nHost: shop.test\r\nX: ${"x".repeat(100_000)}\r\n\r\n`);
    expect(await text(socket)).toMatch(/^HTTP\/1.1 431 /);
  });

  it("are in gorouter's format and cannot be forged", async () => {
    put(binding("shop.test"));
    const port = await app((_, res) => res.end("hello"));
    put(lrp([port]));
    await call({ path: "/x", method: "POST", body: "abc", headers: { "user-agent": 'a"b' } });
    await vi.waitFor(() => expect(lines()).toHaveLength(1));
    const quoted = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    expect(lines()[0]).toMatch(
      new RegExp(
        `^shop\\.test - \\[[0-9T:.-]+Z\\] "POST /x HTTP/1\\.1" 200 3 5 "-" ${quoted('"a\\"b"')} "127\\.0\\.0\\.1:\\d+" "127\\.0\\.0\\.1:${port}" x_forwarded_for:"127\\.0\\.0\\.1" x_forwarded_proto:"http" ` +
          `vcap_request_id:"[0-9a-f-]+" response_time:\\d+\\.\\d+ gorouter_time:\\d+\\.\\d+ app_id:"app-guid" app_index:"0" instance_id:"lrp-1-0" x_cf_routererror:"-"$`,
      ),
    );
  });
});

describe("rules of RFC 9110 and 9112", () => {
  const say = async (message: string): Promise<string> => {
    const socket = connect(edge, "127.0.0.1");
    socket.write(message);
    return text(socket);
  };

  it("an Upgrade other than WebSocket is ignored, and the app gets the body", async () => {
    put(binding("shop.test"));
    put(
      lrp([
        await app((req, res) => void text(req).then((body) => res.end(`${body} ${req.headers.upgrade ?? "none"}`))),
      ]),
    );
    const headers = { connection: "Upgrade, HTTP2-Settings", upgrade: "h2c", "http2-settings": "AAMAAABkAAQ" };
    expect(await call({ method: "POST", body: "payload", headers })).toMatchObject({
      status: 200,
      body: "payload none",
    });
    await vi.waitFor(() => expect(lines()[0]).toContain('"POST / HTTP/1.1" 200 7'));
  });

  it("two Host headers and OPTIONS * are 400", async () => {
    put(binding("shop.test"));
    put(lrp([await app((_, res) => res.end())]));
    expect(await say("GET / HTTP/1.1\r\nHost: shop.test\r\nHost: other.test\r\n\r\n")).toMatch(/^HTTP\/1.1 400 /);
    expect(await say("OPTIONS * HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n\r\n")).toMatch(
      /^HTTP\/1.1 400 [^]*X-Cf-RouterError: invalid_target/i,
    );
  });
});

describe("an app that never answers", () => {
  it("gets so many requests and no more; the rest are 503 at once, and the log tells", async () => {
    let asked = 0;
    put(binding("shop.test"));
    put(lrp([await app(() => void (asked += 1))]));
    const controller = new AbortController();
    for (let i = 0; i < maxRequestsPerInstance; i++)
      request({
        port: edge,
        host: "127.0.0.1",
        headers: { host: "shop.test" },
        agent: false,
        signal: controller.signal,
      })
        .on("error", () => undefined)
        .end();
    await vi.waitFor(() => expect(asked).toBe(maxRequestsPerInstance), 10_000);
    expect(await call()).toMatchObject({ status: 503, headers: { "x-cf-routererror": "connection_limit_reached" } });
    expect(lines().at(-1)).toContain('x_cf_routererror:"connection_limit_reached"');
    controller.abort();
  });
});

describe("WebSockets", () => {
  const endWithPeer = (socket: Duplex) =>
    void socket
      .on("error", () => undefined)
      .on("end", () => socket.destroy())
      .resume();
  it("go both ways, past an instance that refuses, and end on both sides", async () => {
    const server = createServer();
    const sockets = new WebSocketServer({ server });
    sockets.on("connection", (socket, req) => {
      socket.send(`hello ${req.url} ${req.headers["x-cf-instanceindex"]}`);
      socket.on("message", (data) => socket.send(`echo ${String(data)}`));
    });
    put(binding("shop.test"));
    put(lrp([await unusedPort(), await listen(server)]));
    const client = new WebSocket(`ws://127.0.0.1:${edge}/chat?a=b`, { headers: { host: "shop.test" } });
    expect(String((await once(client, "message"))[0])).toBe("hello /chat?a=b 1");
    client.send("x".repeat(200_000));
    expect(String((await once(client, "message"))[0])).toHaveLength(200_005);
    const gone = new Promise((resolve) => [...sockets.clients][0]?.once("close", resolve));
    client.close();
    await gone;
    await vi.waitFor(() => expect(lines()[0]).toContain('"GET /chat?a=b HTTP/1.1" 101'));
  });

  it("are logged, too, when the client leaves before the instance answers, or right after", async () => {
    const asked = Promise.withResolvers<void>();
    const server = createServer();
    server.on("upgrade", (req: IncomingMessage, socket: Duplex) => {
      endWithPeer(socket);
      if (req.url === "/never") return asked.resolve();
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    });
    put(binding("shop.test"));
    put(lrp([await listen(server)]));
    const open = (path: string) => {
      const client = connect(edge, "127.0.0.1").on("error", () => undefined);
      client.write(`GET ${path} HTTP/1.1\r\nHost: shop.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`);
      return client;
    };
    const never = open("/never");
    await asked.promise;
    never.resetAndDestroy();
    await vi.waitFor(() => expect(lines().at(-1)).toContain('"GET /never HTTP/1.1" 499'));
    const once101 = open("/left");
    await once(once101, "data");
    once101.resetAndDestroy();
    await vi.waitFor(() => expect(lines().at(-1)).toContain('"GET /left HTTP/1.1" 101'));
  });

  it("are not opened to an app that switches to another protocol", async () => {
    const server = createServer();
    server.on("upgrade", (_req: IncomingMessage, socket: Duplex) => {
      endWithPeer(socket);
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n");
    });
    put(binding("shop.test"));
    put(lrp([await listen(server)]));
    const client = new WebSocket(`ws://127.0.0.1:${edge}/`, { headers: { host: "shop.test" } });
    client.on("error", () => undefined);
    const [, response] = (await once(client, "unexpected-response")) as [unknown, IncomingMessage];
    expect(response.resume().statusCode).toBe(502);
  });

  it("that an app declines get its answer, and without a route the page", async () => {
    put(binding("shop.test"));
    put(lrp([await app((_, res) => res.writeHead(403).end("no"))]));
    const status = async (host: string) => {
      const client = new WebSocket(`ws://127.0.0.1:${edge}/`, { headers: { host } });
      client.on("error", () => undefined);
      const [, response] = (await once(client, "unexpected-response")) as [unknown, IncomingMessage];
      response.resume();
      return response.statusCode;
    };
    expect(await status("shop.test")).toBe(403);
    expect(await status("nowhere.test")).toBe(404);
  });
});
