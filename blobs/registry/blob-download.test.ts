// A download that nobody reads gives its connection back.
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openBlob } from "./blob-download.ts";
import { createRegistryHTTP } from "./registry-http.ts";

const server = createServer((_request, response) => {
  response.write(Buffer.alloc(1024 * 1024)); // and the rest never comes
});
const http = createRegistryHTTP({ credentials: () => Promise.resolve(undefined) });
beforeAll(() => once(server.listen(0, "127.0.0.1"), "listening"));
afterAll(async () => {
  await http.close();
  server.closeAllConnections();
  server.close();
});

test("a stream that is destroyed before its first read ends the request", async () => {
  const asked = once(server, "request") as Promise<[unknown, ServerResponse]>;
  const place = { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, repository: "team/app" };
  const stream = await openBlob(http, place, { digest: `sha256:${"0".repeat(64)}` });
  const [, response] = await asked;
  const ended = once(response, "close");
  stream.destroy();
  await ended;
  expect(response.writableFinished).toBe(false);
});
