// Drains against servers that take, refuse, stall and vanish: order, frames, bounds, and words without secrets.
import { once } from "node:events";
import { createServer as createHTTPS } from "node:https";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { createServer as createTLS, Server as TLSServer } from "node:tls";
import { afterEach, expect, test, vi } from "vitest";
import { issueCertificate, makeAuthority } from "../../kube/server/pki.ts";
import type { Envelope } from "../envelope.ts";
import { createLogRing, type LogRing } from "../log-ring.ts";
import { AppDrains, type WantedDrain } from "./app-drains.ts";
import { parseDrainAddress, type DrainAddress } from "./drain-address.ts";

const closings: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closings.splice(0).toReversed()) await close();
});

const app = { guid: "app-1", name: "shop", space: "dev", org: "acme" };
const WAIT = { timeout: 10_000, interval: 20 };

async function* followRing(
  ring: LogRing,
  source: string,
  { start, signal }: { start: bigint; signal: AbortSignal },
): AsyncGenerator<Envelope> {
  const queue: Envelope[] = ring.read(source, { start });
  let wake = (): void => undefined;
  const stop = ring.follow(source, (envelope) => {
    queue.push(envelope);
    wake();
  });
  signal.addEventListener("abort", () => wake());
  while (!signal.aborted) {
    const next = queue.shift();
    if (next) yield next;
    else await new Promise<void>((resolve) => (wake = resolve));
  }
  stop();
}

interface World {
  ring: LogRing;
  told: string[];
  drains: AppDrains;
  log(message: string): void;
}

function startWorld(options: { maxBytes?: number } = {}): World {
  const ring = createLogRing();
  const told: string[] = [];
  const drains = new AppDrains({
    follow: (source, follow) => followRing(ring, source, follow),
    tell: (_app, text) => void told.push(text),
    retryMs: 20,
    ...options,
  });
  closings.push(() => drains.stop());
  return { ring, told, drains, log: (message) => ring.log({ source: app.guid, sourceType: "APP/PROC/WEB", message }) };
}

function wanted(url: string, more: Partial<WantedDrain> = {}): WantedDrain {
  const address = parseDrainAddress(url) as DrainAddress;
  const network: WantedDrain["network"] = {
    lookup: (_host, _options, callback) => callback(null, [{ address: "127.0.0.1", family: 4 }]),
    mayConnect: () => true,
  };
  return { key: url, version: url, app, address, certificates: {}, network, ...more };
}

/** A server of a stream, and all that it got; `onSocket` may be unfriendly. */
async function listen(server: Server, onSocket: (socket: Socket) => void = () => undefined) {
  const got: string[] = [];
  const sockets = new Set<Socket>();
  const take = (socket: Socket): void => {
    sockets.add(socket);
    socket.on("error", () => undefined).on("data", (chunk: Buffer) => void got.push(chunk.toString()));
    onSocket(socket);
  };
  server.on(server instanceof TLSServer ? "secureConnection" : "connection", take).listen(0, "127.0.0.1");
  await once(server, "listening");
  closings.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return { port: (server.address() as AddressInfo).port, got, text: () => got.join("") };
}

test("syslog over TCP: octet-counted frames, in order, also over a new connection", async () => {
  const server = await listen(createServer());
  const { drains, log } = startWorld();
  drains.apply([wanted(`syslog://127.0.0.1:${server.port}?disable-metadata=true`)]);
  for (const word of ["one", "two", "three"]) log(word);
  await vi.waitFor(() => expect(server.text()).toContain("three"), WAIT);
  const frames = [...server.text().matchAll(/(\d+) (<14>1 [^\n]*\n)/g)];
  expect(frames.map(([, length, message]) => [Number(length), message?.split(" - - ")[1]])).toEqual(
    frames.map(([, , message]) => [Buffer.byteLength(message ?? ""), expect.anything() as string]),
  );
  expect(frames.map(([, , message]) => message?.split(" - - ")[1])).toEqual(["one\n", "two\n", "three\n"]);
});

test("syslog over TLS with certificates of both sides", async () => {
  const authority = await makeAuthority("authority of drains");
  const [own, client] = await Promise.all([
    issueCertificate(authority, { commonName: "drain", dnsNames: ["logs.example.com"] }),
    issueCertificate(authority, { commonName: "shop" }),
  ]);
  const tls = { ...own, ca: authority.cert, requestCert: true, rejectUnauthorized: true };
  const server = await listen(createTLS(tls));
  const url = `syslog-tls://logs.example.com:${server.port}`;
  const { drains, log, told } = startWorld();
  drains.apply([
    wanted(url, { key: "with", certificates: { ...client, ca: authority.cert } }),
    wanted(url, { key: "without", certificates: { ca: authority.cert } }),
    wanted(url, { key: "unknown" }),
  ]);
  log("over TLS");
  await vi.waitFor(() => expect(server.text()).toContain("over TLS"), WAIT);
  await vi.waitFor(() => expect(told.join()).toMatch(/UNABLE_TO_VERIFY|SELF_SIGNED/), WAIT);
  expect(server.text().match(/over TLS/g)).toHaveLength(1);
});

test("https: a POST for each message; a failure is told without the address, and tried again", async () => {
  const authority = await makeAuthority("authority of drains");
  const own = await issueCertificate(authority, { commonName: "drain", dnsNames: ["logs.example.com"] });
  const bodies: string[] = [];
  let refuses = true;
  const server = createHTTPS(own, (request, response) => {
    void request.toArray().then((chunks) => {
      if (!refuses) bodies.push(`${request.method} ${request.url} ${Buffer.concat(chunks as Buffer[]).toString()}`);
      response.writeHead(refuses ? 503 : 200).end();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  closings.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const { drains, log, told } = startWorld();
  const url = `https://logs.example.com:${(server.address() as AddressInfo).port}/in?token=s3cret`;
  drains.apply([wanted(url, { certificates: { ca: authority.cert } })]);
  log("first");
  log("second");
  await vi.waitFor(() => expect(told).toHaveLength(1), WAIT);
  refuses = false;
  await vi.waitFor(() => expect(bodies).toHaveLength(2), WAIT);
  expect(bodies[0]).toMatch(/^POST \/in\?token=s3cret <14>1 .* first\n$/);
  expect(told).toEqual([
    "The log drain at logs.example.com takes no messages: the drain answered 503. It is tried again.",
  ]);
});

test("a drain that takes nothing costs bounded memory, and losses are counted in the app's log", async () => {
  const stalled = await listen(createServer(), (socket) => void socket.pause());
  const { drains, log, told } = startWorld({ maxBytes: 300_000 });
  const open = await listen(createServer());
  drains.apply([
    wanted(`syslog://127.0.0.1:${stalled.port}`),
    wanted(`syslog://127.0.0.1:${open.port}`, { app: { ...app, guid: "app-2", name: "other" } }),
  ]);
  for (let at = 0; at < 60; at++) log("x".repeat(60_000));
  await vi.waitFor(
    () => expect(told.join()).toMatch(/^\d+ messages? (was|were) lost: the log drain at 127\.0\.0\.1/),
    WAIT,
  );
});

test("an address that the space may not reach is not connected to", async () => {
  const server = await listen(createServer());
  const { drains, log, told } = startWorld();
  drains.apply([
    wanted(`syslog://127.0.0.1:${server.port}`, {
      network: { lookup: () => expect.unreachable(), mayConnect: () => false },
    }),
  ]);
  log("inside");
  await vi.waitFor(() => expect(told.join()).toContain("the address is not open to this space"), WAIT);
  expect(server.got).toEqual([]);
});

test("a drain that ends while it connects leaves no connection", async () => {
  let closed = 0;
  // Takes the connection, and never answers the TLS handshake.
  const server = await listen(createServer(), (socket) => void socket.on("close", () => (closed += 1)));
  const { drains, log } = startWorld();
  drains.apply([wanted(`syslog-tls://127.0.0.1:${server.port}`)]);
  log("never sent");
  await vi.waitFor(() => expect(server.got).not.toEqual([]), WAIT);
  drains.apply([]);
  await vi.waitFor(() => expect(closed).toBe(1), { timeout: 5_000, interval: 20 });
});

test("a drain that is gone gets nothing more, and its app's log is not read any more", async () => {
  const server = await listen(createServer());
  const { drains, log } = startWorld();
  drains.apply([wanted(`syslog://127.0.0.1:${server.port}`)]);
  log("before");
  await vi.waitFor(() => expect(server.text()).toContain("before"), WAIT);
  drains.reread([app.guid]);
  log("again");
  await vi.waitFor(() => expect(server.text()).toContain("again"), WAIT);
  drains.apply([]);
  log("after");
  expect(drains.apps()).toEqual([]);
  expect(server.text()).not.toContain("after");
});
