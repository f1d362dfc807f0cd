// Requests as `cup` sends them: bodies, deadlines, redirects, and connections that the server has closed.
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { exchange } from "./exchange.ts";

const closings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closings.splice(0)) await close();
});

async function serve(listener: RequestListener): Promise<string> {
  // Only the client ends a connection.
  const server = createServer({ keepAliveTimeout: 0 }, listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  closings.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function textOf(request: IncomingMessage): Promise<string> {
  return (await request.toArray()).join("");
}

const GET = { method: "GET", headers: {}, deadlineMs: 60_000 };

test("sends text with its length, and answers status, Location and text", async () => {
  const base = await serve(async (request, response) => {
    const seen = `${request.method} ${request.headers["content-length"]} ${await textOf(request)}`;
    response.writeHead(202, { location: "/v3/jobs/1" }).end(seen);
  });
  expect(await exchange(`${base}/a`, { ...GET, method: "POST", body: "grüße" })).toEqual({
    status: 202,
    location: "/v3/jobs/1",
    text: "POST 7 grüße",
  });
});

test("sends a stream as it comes", async () => {
  const base = await serve(async (request, response) => void response.end(await textOf(request)));
  async function* body(): AsyncGenerator<Uint8Array> {
    for (const part of ["one ", "two"]) yield await Promise.resolve(Buffer.from(part));
  }
  expect(await exchange(base, { ...GET, method: "POST", body: body() })).toMatchObject({
    status: 200,
    text: "one two",
  });
});

test("a stream that fails fails the request", async () => {
  const base = await serve((request) => void request.on("error", () => undefined).resume());
  async function* body(): AsyncGenerator<Uint8Array> {
    await Promise.resolve();
    throw new Error("the file went away");
  }
  await expect(exchange(base, { ...GET, method: "POST", body: body() })).rejects.toThrow("the file went away");
});

test("no whole answer by the deadline", async () => {
  const base = await serve((_request, response) => void response.write("half of it"));
  await expect(exchange(base, { ...GET, deadlineMs: 50 })).rejects.toThrow();
});

test("a server that hangs up without an answer", async () => {
  const base = await serve(
    (request) =>
      void request.socket.end("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
  );
  await expect(exchange(base, GET)).rejects.toThrow("closed");
});

test.each([0, 1])("an answer without end, behind %i redirects", async (redirects) => {
  const endless = await serve((_request, response) => {
    const part = Buffer.alloc(1 << 20, "x");
    const write = (): void =>
      void (response.destroyed || (response.write(part) ? setImmediate(write) : response.once("drain", write)));
    write();
  });
  const base =
    redirects === 0
      ? endless
      : await serve((_request, response) => void response.writeHead(307, { location: endless }).end());
  await expect(exchange(base, GET)).rejects.toThrow("larger than 64 MiB");
});

test("an answer before the body is read ends the body and the connection", async () => {
  const closed = Promise.withResolvers<void>();
  const base = await serve((request, response) => {
    request.pause();
    request.socket.on("close", () => closed.resolve());
    response.writeHead(413).end("too large");
  });
  const ended = Promise.withResolvers<void>();
  async function* body(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) yield await Promise.resolve(Buffer.alloc(1 << 20));
    } finally {
      ended.resolve();
    }
  }
  expect(await exchange(base, { ...GET, method: "POST", body: body() })).toMatchObject({
    status: 413,
    text: "too large",
  });
  await Promise.all([ended.promise, closed.promise]);
});

test("a redirect is followed, without the credential when it leads elsewhere", async () => {
  const other = await serve((request, response) => void response.end(`credential: ${request.headers.authorization}`));
  const base = await serve((_request, response) => void response.writeHead(308, { location: other }).end());
  const answer = await exchange(base, { ...GET, headers: { authorization: "bearer secret" } });
  expect(answer).toMatchObject({ status: 200, text: "credential: undefined" });
});

test.each([
  ["GET", "a read is sent again"],
  ["POST", "a write is not: it may have been done"],
])("%s on a kept connection that closes: %s", async (method) => {
  let requests = 0;
  const base = await serve((request, response) => {
    requests++;
    if (requests === 2) request.socket.resetAndDestroy();
    else response.end(String(requests));
  });
  expect((await exchange(base, GET)).text).toBe("1");
  const second = exchange(base, { ...GET, method });
  if (method === "GET") expect((await second).text).toBe("3");
  else await expect(second).rejects.toThrow();
});
