// Parts of an answer besides its body that `cup` reports.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { apiClient } from "./client.ts";

test("each warning is told once, decoded", async () => {
  const texts = ["WARNING: The stack 'a', of old, is gone.", "100 % + more"];
  const header = [...texts.map(encodeURIComponent), "bare%"].join(",");
  const server = createServer((_request, response) => {
    response.writeHead(200, { "x-cf-warnings": header }).end("{}");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const told: string[] = [];
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = apiClient(base, "bearer x", { onWarning: (text) => told.push(text) });
  await client.request("POST", "/v3/builds", { body: {} });
  await client.request("GET", "/v3/apps");
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  expect(told).toEqual([...texts, "bare%"]);
});
