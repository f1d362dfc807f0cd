// Child process: brokers that attack the platform, one below each path. In a process of its own, so that their work is not the platform's.
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { serveParent } from "../bench/child-process.ts";

/** The answer of each to any request. */
const ATTACKS: Readonly<Record<string, (response: ServerResponse) => Promise<void> | void>> = {
  many: (response) => void response.end(manyPlans(100_000)),
  nested: (response) => void response.end("[".repeat(3 * 1024 * 1024)),
  endless: sendForEver,
  slow: dripForEver,
  redirect: (response) => void response.writeHead(302, { location: "http://127.0.0.1:1/v2/catalog" }).end(),
  late: async (response) => {
    await delay(LATE_MS);
    response.end("{}");
  },
  headers: (response) => void response.writeHead(200, { "x-much": "x".repeat(60_000) }).end("{}"),
  garbage: (response) => void response.writeHead(200, { "content-encoding": "gzip" }).end("no gzip"),
};
const LATE_MS = 60_000;

function manyPlans(count: number): string {
  const plans = Array.from({ length: count }, (_none, at) => `{"id":"p${at}","name":"p${at}"}`);
  return `{"services":[{"id":"s","name":"many","bindable":true,"plans":[${plans.join()}]}]}`;
}

async function sendForEver(response: ServerResponse): Promise<void> {
  const closed = once(response, "close").then(() => undefined);
  response.write('{"services":[');
  for (const part = `"${"x".repeat(65_536)}",`; !response.destroyed;)
    if (!response.write(part)) await Promise.race([new Promise((resolve) => response.once("drain", resolve)), closed]);
}

async function dripForEver(response: ServerResponse): Promise<void> {
  while (!response.destroyed) {
    response.write(" ");
    await delay(1_000);
  }
}

const server = createServer((request, response) => {
  const [, name = ""] = (request.url ?? "").split("/");
  const attack = ATTACKS[name];
  if (attack) void attack(response);
  else response.writeHead(404).end();
}).listen(0, "127.0.0.1");
await once(server, "listening");
serveParent(
  { address: () => Promise.resolve({ port: (server.address() as AddressInfo).port, names: Object.keys(ATTACKS) }) },
  async () => {
    server.closeAllConnections();
    server.close();
  },
);
