// Listeners of TCP routes: which instance gets a connection, ports that others have, and the end of a route.
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";
import type { Endpoint } from "./routing-table.ts";
import { createTCPListeners, type TCPListeners } from "./tcp-listeners.ts";

const servers: Server[] = [];
const open: TCPListeners[] = [];
afterEach(() => {
  for (const one of open.splice(0)) one.close();
  for (const server of servers.splice(0)) server.close();
});

async function listenAt(port: number, serve: (socket: Socket) => void): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, serve).listen(port, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}
const freePort = async (): Promise<number> => {
  const port = await listenAt(0, () => undefined);
  const server = servers.pop();
  server?.close();
  if (server) await once(server, "close");
  return port;
};
const instance = (index: number, hostPort: number): Endpoint => ({
  ...{ appGUID: "a", processGUID: "a", processType: "web", port: 8080, host: "127.0.0.1" },
  ...{ hostPort, index, instanceGUID: `i${index}` },
});
const route = (port: number, guid = "r", order = guid) => ({ guid, port, destinations: [], order });
const said = vi.fn();

function start(endpoints: readonly Endpoint[]): TCPListeners {
  said.mockClear();
  const listeners = createTCPListeners({
    endpointsOf: () => endpoints,
    onChange: said,
  });
  open.push(listeners);
  return listeners;
}

const listening = (listeners: TCPListeners, port: number): Promise<void> =>
  vi.waitFor(() => expect(listeners.isListening(port)).toBe(true), { timeout: 10_000 });

async function ask(port: number, words: string): Promise<string> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  socket.end(words);
  return text(socket);
}

/** Writes until nobody takes any more. */
async function fill(socket: Socket): Promise<void> {
  for (let isTaken = true; isTaken;) {
    const taken = new Promise<boolean>((resolve) => socket.write(Buffer.alloc(1_000_000), () => resolve(true)));
    isTaken = await Promise.race([taken, delay(500, false)]);
  }
}

test("connections go to each instance in turn, and end as either side ends them", async () => {
  const names = await Promise.all(
    ["one", "two"].map((name) =>
      listenAt(0, (socket) => {
        let words = `${name}: `;
        socket.on("data", (data) => (words += data.toString())).on("end", () => socket.end(words));
      }),
    ),
  );
  const listeners = start(names.map((port, index) => instance(index, port)));
  const port = await freePort();
  listeners.set("k", route(port));
  await listening(listeners, port);
  expect(said).toHaveBeenCalledWith("k");
  const answers = [await ask(port, "hello"), await ask(port, "again")].sort();
  expect(answers.map((answer) => answer.slice(0, 3))).toEqual(["one", "two"]);
  expect(answers.join()).toMatch(/hello/);
});

test("an instance that refuses is passed over; without any the connection ends", async () => {
  const [gone, there] = [await freePort(), await listenAt(0, (socket) => socket.end("there"))];
  const listeners = start([instance(0, gone), instance(1, there)]);
  const port = await freePort();
  listeners.set("k", route(port));
  await listening(listeners, port);
  expect([await ask(port, ""), await ask(port, "")]).toEqual(["there", "there"]);
  const none = start([]);
  const other = await freePort();
  none.set("k", route(other));
  await listening(none, other);
  await expect(ask(other, "").catch(() => "")).resolves.toBe("");
});

test("an instance that reads nothing loses the connection of a client that has gone", async () => {
  const accepted = Promise.withResolvers<Socket>();
  const there = await listenAt(0, (socket) => {
    accepted.resolve(socket.pause().on("error", () => undefined));
    socket.write("hello");
  });
  const listeners = start([instance(0, there)]);
  const port = await freePort();
  listeners.set("k", route(port));
  await listening(listeners, port);
  const client = connect(port, "127.0.0.1").on("error", () => undefined);
  await once(client, "data");
  await fill(client);
  client.destroy();
  const socket = await accepted.promise;
  await vi.waitFor(
    () => {
      // A write is refused once the other side is gone.
      if (!socket.destroyed) socket.write(".");
      expect(socket.destroyed).toBe(true);
    },
    { timeout: 10_000 },
  );
});

test("a port that another program has is said", async () => {
  const taken = await listenAt(0, (socket) => socket.end());
  const listeners = start([]);
  listeners.set("k", route(taken));
  await vi.waitFor(() => expect(listeners.isListening(taken)).toBe(false), { timeout: 10_000 });
  expect(said).toHaveBeenCalledWith("k");
});

test("a route that is gone ends its connections and gives its port back", async () => {
  const there = await listenAt(0, (socket) => socket.write("hello"));
  const listeners = start([instance(0, there)]);
  const port = await freePort();
  listeners.set("k", route(port));
  await listening(listeners, port);
  const socket = connect(port, "127.0.0.1").on("error", () => undefined);
  await once(socket, "data");
  listeners.set("k", undefined);
  await once(socket, "close");
  await vi.waitFor(() => listenAt(port, () => undefined), { timeout: 10_000 });
});
