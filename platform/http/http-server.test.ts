// The port that API and apps share: which handler serves which host, and no plain HTTP off loopback.
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { request } from "undici";
import { afterEach, describe, expect, test } from "vitest";
import { issueCertificate, makeAuthority } from "../../kube/server/pki.ts";
import { startHttpServer, type HttpServer, type HttpServerOptions } from "./http-server.ts";

let door: HttpServer | undefined;
afterEach(async () => {
  await door?.close();
  door = undefined;
});

function options(more: Partial<HttpServerOptions> = {}): HttpServerOptions {
  return {
    host: "127.0.0.1",
    port: 0,
    health: () => ({ ready: true, pending: [], degraded: [] }),
    onError: (error) => expect.unreachable(String(error)),
    api: (_request, response) => void response.end("api"),
    apps: {
      request: (_request, response) => void response.end("apps"),
      upgrade: (_request, socket) => void socket.end(),
    },
    ...more,
  };
}

async function get(url: string, host: string, path = "/"): Promise<{ status: number; body: string }> {
  const answer = await request(`${url.replace("localhost", "127.0.0.1")}${path}`, { headers: { host } });
  return { status: answer.statusCode, body: await answer.body.text() };
}

describe("the HTTP server", () => {
  test.each([
    ["localhost", "api"],
    ["LOCALHOST:1234", "api"],
    ["127.0.0.1", "api"],
    ["login.localhost:1234", "api"],
    ["shop.apps.localhost", "apps"],
    ["example.org", "apps"],
  ])("host %s is answered by %s", async (host, who) => {
    door = await startHttpServer(options({ apiHosts: ["login.localhost"] }));
    expect(await get(door.url, host)).toEqual({ status: 200, body: who });
  });

  test("reports readiness, on the API's hosts only", async () => {
    door = await startHttpServer(
      options({
        health: () => ({ ready: false, pending: [{ name: "api", reason: "apps.example Forbidden" }], degraded: [] }),
      }),
    );
    expect(await get(door.url, "localhost", "/readyz")).toEqual({
      status: 503,
      body: "not ready\napi: apps.example Forbidden\n",
    });
    expect((await get(door.url, "localhost", "/livez")).status).toBe(200);
    expect((await get(door.url, "localhost", "/healthz")).status).toBe(200);
    expect((await get(door.url, "shop.apps.localhost", "/readyz")).body).toBe("apps");
  });

  test("names missing parts while it serves", async () => {
    door = await startHttpServer(
      options({
        health: () => ({
          ready: true,
          pending: [],
          degraded: [{ name: "controllers", reason: "ingresses Forbidden" }],
        }),
      }),
    );
    expect(await get(door.url, "localhost", "/readyz")).toEqual({
      status: 200,
      body: "ok\ndegraded: controllers: ingresses Forbidden\n",
    });
  });

  test("answers requests from before it closed, and none after", async () => {
    const asked = Promise.withResolvers<() => void>();
    door = await startHttpServer(
      options({ api: (_request, response) => asked.resolve(() => void response.end("late")) }),
    );
    const answer = get(door.url, "localhost");
    const finish = await asked.promise;
    const closed = door.close(10_000);
    await expect(get(door.url, "localhost")).rejects.toMatchObject({ code: "ECONNREFUSED" });
    finish();
    expect(await answer).toEqual({ status: 200, body: "late" });
    await closed;
  });

  test("about to close serves on, and sends its clients elsewhere", async () => {
    door = await startHttpServer(options());
    door.startDraining();
    const answer = await request(door.url.replace("localhost", "127.0.0.1"), { headers: { host: "localhost" } });
    expect([answer.statusCode, answer.headers["connection"], await answer.body.text()]).toEqual([200, "close", "api"]);
  });

  test("cuts off requests that are not answered in time", async () => {
    const asked = Promise.withResolvers<void>();
    door = await startHttpServer(options({ api: () => asked.resolve() }));
    const answer = get(door.url, "localhost").then(
      () => "answered",
      () => "broken off",
    );
    await asked.promise;
    await door.close(50);
    expect(await answer).toBe("broken off");
  });

  test("survives a client that breaks off after asking for an upgrade", async () => {
    const asked = Promise.withResolvers<Duplex>();
    door = await startHttpServer(
      options({
        apps: {
          request: (_request, response) => void response.end(),
          upgrade: (_request, socket) => asked.resolve(socket),
        },
      }),
    );
    const client = connect(Number(new URL(door.url).port), "127.0.0.1");
    client.write("GET / HTTP/1.1\r\nHost: shop.apps.localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    const socket = await asked.promise;
    const closed = new Promise((resolve) => socket.once("close", resolve));
    client.resetAndDestroy();
    socket.resume();
    await closed;
    expect((await get(door.url, "localhost")).status).toBe(200);
  });

  test("survives and reports a handler that throws", async () => {
    const faults: string[] = [];
    const fail = (): never => {
      throw new Error("a bug");
    };
    door = await startHttpServer(
      options({
        health: fail,
        api: fail,
        apps: { request: (_request, response) => (response.write("begun"), fail()), upgrade: fail },
        onError: (error) => void faults.push(error.message),
      }),
    );
    expect(await get(door.url, "localhost", "/readyz")).toEqual({ status: 500, body: "internal error; see the log\n" });
    expect((await get(door.url, "localhost")).status).toBe(500);
    await expect(get(door.url, "shop.apps.localhost")).rejects.toThrow();
    const client = connect(Number(new URL(door.url).port), "127.0.0.1").on("error", () => undefined);
    client.write("GET / HTTP/1.1\r\nHost: shop.apps.localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    await new Promise((resolve) => client.once("close", resolve));
    expect(faults).toEqual(["a bug", "a bug", "a bug", "a bug"]);
    expect((await get(door.url, "localhost", "/livez")).status).toBe(200);
  });

  test.each([
    ["GET http://shop.apps.localhost/x HTTP/1.1\r\nHost: localhost", "200", "apps"],
    ["GET http://localhost/x HTTP/1.1\r\nHost: shop.apps.localhost", "200", "api"],
    ["GET / HTTP/1.1\r\nHost: localhost\r\nHost: shop.apps.localhost", "400", "more than one Host"],
    ["GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: h2c", "200", "api"],
    ["GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket", "200", "api"],
    ["GET / HTTP/1.1\r\nHost: shop.apps.localhost\r\nConnection: Upgrade\r\nUpgrade: h2c", "200", "apps"],
  ])("%s is %s by %s", async (head, status, who) => {
    door = await startHttpServer(options());
    const client = connect(Number(new URL(door.url).port), "127.0.0.1");
    client.write(`${head}\r\nConnection: close\r\n\r\n`);
    expect(await text(client)).toMatch(new RegExp(`^HTTP/1.1 ${status} [^]*${who}`));
  });

  test("without a router every host is the API's", async () => {
    const { apps: _apps, ...rest } = options();
    door = await startHttpServer(rest);
    expect((await get(door.url, "api.example.org")).body).toBe("api");
  });

  test("a port in use is named, with the next step", async () => {
    door = await startHttpServer(options());
    const port = Number(new URL(door.url).port);
    await expect(startHttpServer(options({ port }))).rejects.toThrow(
      `port ${port} is taken by another program; choose another with --port`,
    );
  });

  test("off loopback only TLS is allowed", async () => {
    await expect(startHttpServer(options({ host: "0.0.0.0" }))).rejects.toThrow("TLS only");
    const authority = await makeAuthority("test");
    const tls = await issueCertificate(authority, { commonName: "localhost", dnsNames: ["localhost"] });
    door = await startHttpServer(options({ tls }));
    expect(door.url).toMatch(/^https:/);
  });
});
