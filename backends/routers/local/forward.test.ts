// Answers that instances give early, or in a way that node would not write: the client gets them all the same.
import { createServer, type IncomingMessage, request, type RequestListener, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { Agent } from "undici";
import { afterEach, expect, test } from "vitest";
import type { Telemetry } from "../../../telemetry/telemetry.ts";
import { createEndpointChooser } from "./endpoint-chooser.ts";
import { beginExchange, type RouterContext } from "./exchange.ts";
import { forward } from "./forward.ts";
import { createRoutingTable, type Endpoint } from "./routing-table.ts";

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0)) await end();
});

async function listen(listener: RequestListener): Promise<number> {
  const server: Server = createServer(listener);
  await once(server.listen(0, "127.0.0.1"), "listening");
  endings.push(() => new Promise((resolve) => (server.close(resolve), server.closeAllConnections())));
  return (server.address() as AddressInfo).port;
}

/** A request through a router before one app; not sent yet. */
async function requestTo(app: RequestListener, size: number) {
  const target = { appGUID: "app", processType: "web", port: 8080 };
  const hostPort = await listen(app);
  const table = createRoutingTable();
  table.setRoute("r", { guid: "r", hostname: "a.test", path: "", destinations: [{ ...target, app: "a" }], order: "1" });
  table.setEndpoints("lrp", [{ ...target, index: 0, instanceGUID: "i", host: "127.0.0.1", hostPort } as Endpoint]);
  const telemetry = { log: () => undefined } as unknown as Telemetry;
  const context: RouterContext = { table, chooser: createEndpointChooser(), telemetry, isSynced: () => true };
  const dispatcher = new Agent();
  endings.push(() => dispatcher.destroy());
  const port = await listen(
    (req, res) => void forward(beginExchange(context, req), res, { dispatcher, requestTimeoutMs: 30_000 }),
  );
  const headers = { host: "a.test", connection: "keep-alive", "content-length": String(size) };
  return request({ port, host: "127.0.0.1", method: "POST", headers, agent: false });
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
