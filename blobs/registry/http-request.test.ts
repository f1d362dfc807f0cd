// A request on real sockets: early answers, silence, connections that are used again.
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createConnections, sendRequest, type Connections, type HttpRequest } from "./http-request.ts";
import { readBody } from "./read-body.ts";

const DEADLINE_MS = 10_000;
let connections: Connections;
let server: Server | undefined;

beforeEach(() => void (connections = createConnections()));
afterEach(() => {
  connections.close();
  server?.closeAllConnections();
  server?.close();
});

async function serve(listener: RequestListener): Promise<URL> {
  server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
}

async function ask(url: URL, more: Partial<HttpRequest> = {}) {
  const signal = AbortSignal.timeout(DEADLINE_MS);
  return sendRequest(url, { method: "GET", headers: {}, connections, signal, ...more });
}

async function askText(url: URL, more: Partial<HttpRequest> = {}): Promise<string> {
  return (await readBody(await ask(url, more), 1000, DEADLINE_MS)).toString();
}

test("a connection is used again", async () => {
  const url = await serve(({ socket }, response) => response.end(String(socket.remotePort)));
  expect(await askText(url)).toBe(await askText(url));
});

test("a server that answers before it has read the body is heard, and the body is let go", async () => {
  const url = await serve((_request, response) => response.writeHead(403).end("refused"));
  const body = Readable.from(
    (async function* () {
      for (;;) {
        await delay(1);
        yield Buffer.alloc(65_536);
      }
    })(),
    { objectMode: false },
  );
  const closed = once(body, "close").catch(() => undefined);
  const answer = await ask(url, { method: "PUT", body });
  expect([answer.statusCode, (await readBody(answer, 1000, DEADLINE_MS)).toString()]).toEqual([403, "refused"]);
  await closed;
});

test("a body that cannot be read fails the request with its reason", async () => {
  const url = await serve((request) => void request.resume());
  const body = new Readable({ read: () => void body.destroy(new Error("the disk is gone")) });
  await expect(ask(url, { method: "PUT", body })).rejects.toThrow("the disk is gone");
});

test("a download in which nothing comes is cut", async () => {
  const url = await serve((_request, response) => void response.writeHead(200, { "content-length": 9 }).write("half"));
  await expect(askText(url, { idleMs: 50 })).rejects.toThrow("nothing came for 0.05 s");
});

test("a download whose reader is slow is not cut", async () => {
  const url = await serve((_request, response) => void response.end("whole"));
  const answer = await ask(url, { idleMs: 20 });
  await delay(100);
  expect((await readBody(answer, 1000, DEADLINE_MS)).toString()).toBe("whole");
});

test("no answer by the deadline fails the request", async () => {
  const url = await serve(() => undefined);
  await expect(ask(url, { signal: AbortSignal.timeout(50) })).rejects.toThrow("abort");
});
