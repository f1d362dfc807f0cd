// Two proxies of a cluster's routes with a route service, as an ingress controller uses them: scheme, weights, forged signatures, WebSockets, a service that is down, and keys that rotate under load.
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { buildConnector } from "undici";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import WebSocket from "ws";
import { LABELS } from "../../../../crds/labels.ts";
import type { KubeClient } from "../../../../kube/client/client.ts";
import { createListener } from "../../../../kube/server/listener.ts";
import { createKeyring, ROUTE_SERVICE_KEYS } from "../route-service-key.ts";
import { signRequest } from "../route-service-signature.ts";
import { type FakeWatches, fakeWatches } from "../testing/fake-watches.ts";
import { aKey } from "../testing/keyrings.ts";
import { createRouteServiceProxy, type RouteServiceProxy } from "./route-service-proxy.ts";

const HEADERS = ["x-cf-forwarded-url", "x-cf-proxy-signature", "x-cf-proxy-metadata"];

interface Replica {
  client: KubeClient;
  proxy: RouteServiceProxy;
  put: FakeWatches["put"];
  port: number;
}

const servers: Server[] = [];
let replicas: Replica[];
/** The Secret of the keys, which the replicas share. */
let secret: { data: Record<string, string> } | undefined;
/** Requests that the apps got, by app. */
let seen: [app: string, request: IncomingMessage][];
let turn = 0;

async function serve(listener: RequestListener): Promise<number> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

async function startReplica(): Promise<Replica> {
  const { informers, put } = fakeWatches();
  const client = {
    find: () => Promise.resolve(secret),
    create: (_ref: unknown, draft: typeof secret) => Promise.resolve((secret = draft)),
    update: (_ref: unknown, draft: typeof secret) => Promise.resolve((secret = draft)),
  } as unknown as KubeClient;
  const proxy = createRouteServiceProxy({
    informers,
    keyring: createKeyring(client, 50),
    connectToService: buildConnector({ timeout: 2_000 }),
  });
  const server = createListener({ share: 0.1, acceptsWebSocket: () => true }, proxy.request);
  server.on("upgrade", proxy.upgrade);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  servers.push(server as unknown as Server);
  await vi.waitFor(() => expect(proxy.isReady()).toBe(true));
  return { client, proxy, put, port: (server.address() as AddressInfo).port };
}

const putAll = (object: object): void => replicas.forEach(({ put }) => put(object as Parameters<Replica["put"]>[0]));

/** An app behind a Service of the routers. */
async function anApp(name: string): Promise<void> {
  const port = await serve((incoming, response) => (seen.push([name, incoming]), response.end(name)));
  const labels = { [LABELS.app]: name, [LABELS.processType]: "web" };
  putAll({
    kind: "Service",
    metadata: { name: `s-${name}`, namespace: "n", uid: `s-${name}`, labels },
    spec: { clusterIP: "127.0.0.1", ports: [{ port }] },
  });
  ports.set(name, port);
}
const ports = new Map<string, number>();

function bind(
  url: string | undefined,
  destinations: object[] = [{ app: "shop" }],
  hostname = "shop.test",
  namespace = "n",
): void {
  putAll({
    kind: "RouteBinding",
    metadata: { name: hostname, namespace, uid: hostname },
    spec: {
      class: "gateway",
      routeGUID: `route-of-${hostname}`,
      hostname,
      path: "",
      port: 0,
      internal: false,
      destinations: destinations.map((each) => {
        const { app } = each as { app: string };
        return { appGUID: app, processType: "web", port: ports.get(app), protocol: "http1", ...each };
      }),
      ...(url !== undefined && { routeService: { url } }),
    },
  });
}

interface Sent {
  path?: string;
  headers?: Record<string, string>;
  body?: string;
}
/** Through the ingress controller, which goes to one replica after the other. */
async function send({ path = "/cart?id=1", headers = {}, body }: Sent = {}) {
  const { port } = replicas[turn++ % replicas.length]!;
  const all = { host: "shop.test", "x-forwarded-proto": "https", ...headers };
  const sent = request({ port, host: "127.0.0.1", path, method: body ? "POST" : "GET", headers: all, agent: false });
  sent.end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return {
    status: response.statusCode,
    error: response.headers["x-cf-routererror"],
    cookies: response.headers["set-cookie"],
    body: await text(response),
  };
}

/** Sends every request back after a while. */
async function aService(ms = 0): Promise<{ url: string; urls: string[] }> {
  const urls: string[] = [];
  const port = await serve((incoming, response) => {
    const forwarded = String(incoming.headers["x-cf-forwarded-url"]);
    urls.push(forwarded);
    const { pathname, search } = new URL(forwarded);
    const headers = Object.fromEntries(HEADERS.map((name) => [name, String(incoming.headers[name])]));
    void text(incoming)
      .then((body) => delay(ms, body))
      .then((body) => send({ path: pathname + search, headers, body }))
      .then((answer) => response.writeHead(answer.status ?? 500).end(`service(${answer.body})`));
  });
  return { url: `http://127.0.0.1:${port}`, urls };
}

beforeEach(async () => {
  secret = undefined;
  seen = [];
  replicas = [];
  replicas.push(await startReplica());
  replicas.push(await startReplica());
  await anApp("shop");
});
afterEach(async () => {
  for (const { proxy } of replicas) await proxy.stop();
  for (const server of servers.splice(0)) server.close(() => undefined).closeAllConnections();
});

test("a request goes by the client's scheme to the service, comes back to any replica, and reaches the app's Service", async () => {
  const { url, urls } = await aService();
  bind(url);
  for (let each = 0; each < 4; each++)
    expect(await send({ body: "order" })).toMatchObject({ status: 200, body: "service(shop)" });
  expect(new Set(urls)).toEqual(new Set(["https://shop.test/cart?id=1"]));
  expect(seen).toHaveLength(4);
  const [[, atApp]] = seen as [[string, IncomingMessage]];
  expect(atApp.url).toBe("/cart?id=1");
  expect(atApp.headers["x-cf-applicationid"]).toBe("shop");
  for (const name of [...HEADERS, "x-cf-instanceid", "x-cf-instanceindex"])
    expect(atApp.headers).not.toHaveProperty(name);
});

test("destinations get requests by their weights, and headers that choose instances choose none", async () => {
  await anApp("blue");
  const { url } = await aService();
  bind(url, [
    { app: "shop", weight: 75 },
    { app: "blue", weight: 25 },
  ]);
  const answers = new Map<string, number>();
  for (let each = 0; each < 16; each++) {
    const { body } = await send({ headers: { "x-cf-app-instance": "other:7", cookie: "__VCAP_ID__=s; JSESSIONID=1" } });
    answers.set(body, (answers.get(body) ?? 0) + 1);
  }
  expect(Object.fromEntries(answers)).toEqual({ "service(shop)": 12, "service(blue)": 4 });
});

test.each([
  ["an old one", { now: Date.now() - 61_000 }, 504],
  ["one of another URL", { url: "https://shop.test/admin" }, 502],
  ["one of another scheme", { url: "http://shop.test/cart?id=1" }, 502],
  ["one of another route", { routeGUID: "route-of-other.test" }, 502],
  ["one of another installation", { key: aKey() }, 502],
])("%s is refused", async (_what, change, status) => {
  bind("http://127.0.0.1:1");
  const { current } = await ROUTE_SERVICE_KEYS.get(replicas[0]!.client);
  const given = { url: "https://shop.test/cart?id=1", routeGUID: "route-of-shop.test", key: current, now: Date.now() };
  const { key, now, ...asked } = { ...given, ...change };
  const { signature, metadata } = signRequest(asked, key, now);
  const headers = {
    "x-cf-forwarded-url": asked.url,
    "x-cf-proxy-signature": signature,
    "x-cf-proxy-metadata": metadata,
  };
  expect((await send({ headers })).status).toBe(status);
  expect(seen).toEqual([]);
});

test("a service that is down is 502; a route without a service, and one of another router, are none of the proxy's", async () => {
  bind("http://127.0.0.1:1");
  expect(await send()).toMatchObject({ status: 502, error: expect.stringContaining("connection refused") });
  bind(undefined);
  expect((await send()).status).toBe(404);
  expect(seen).toEqual([]);
});

test("a WebSocket is 503", async () => {
  bind("http://127.0.0.1:1");
  const socket = new WebSocket(`ws://127.0.0.1:${replicas[0]!.port}/`, { headers: { host: "shop.test" } });
  const [error] = (await once(socket, "error")) as [Error];
  expect(error.message).toContain("503");
});

test("a service that does not answer holds 500 requests of a route; routes of another space with the same service go on", async () => {
  const guard = await serve(({ headers }, response) => {
    if (new URL(String(headers["x-cf-forwarded-url"])).host !== "shop.test") response.end("guard");
  });
  bind(`http://127.0.0.1:${guard}`);
  bind(`http://127.0.0.1:${guard}`, [{ app: "shop" }], "other.test", "other-space");
  const { port } = replicas[0]!;
  const held = Array.from({ length: 500 }, () => {
    const sent = request({ port, host: "127.0.0.1", headers: { host: "shop.test" }, agent: false });
    sent.on("error", () => undefined).end();
    return sent;
  });
  await vi.waitFor(
    async () => {
      turn = 0;
      expect((await send()).error).toBe("connection_limit_reached");
    },
    { timeout: 20_000, interval: 200 },
  );
  turn = 0;
  expect((await send({ headers: { host: "other.test" } })).body).toBe("guard");
  for (const each of held) each.destroy();
}, 40_000);

test("keys that rotate twice under load fail no request, though one replica learns of each rotation first", async () => {
  const { url } = await aService(20);
  bind(url);
  const failures: unknown[] = [];
  let [count, running] = [0, true];
  const load = Array.from({ length: 10 }, async () => {
    while (running) {
      const { status, body, error } = await send();
      count += 1;
      if (status !== 200 || body !== "service(shop)") failures.push({ status, error });
    }
  });
  const ids = new Set<string>();
  const served = (more: number): Promise<void> => {
    const enough = count + more;
    return vi.waitFor(() => expect(count).toBeGreaterThanOrEqual(enough), { timeout: 20_000, interval: 10 });
  };
  for (const first of [0, 1]) {
    await served(15);
    secret = { ...secret, data: { previous: secret?.data["current"] ?? "" } };
    await ROUTE_SERVICE_KEYS.refresh(replicas[first]!.client);
    await served(30);
    for (const { client } of replicas) {
      await ROUTE_SERVICE_KEYS.refresh(client);
      ids.add((await ROUTE_SERVICE_KEYS.get(client)).current.id);
    }
  }
  running = false;
  await Promise.all(load);
  expect(failures).toEqual([]);
  expect(ids.size).toBe(2);
}, 90_000);
