// How many connections the reads of logs and stats hold.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { telemetryClient } from "./telemetry-client.ts";

test("a flood of reads opens few connections, and every read is answered, also after refusals", async () => {
  let open = 0;
  let most = 0;
  let asked = 0;
  const server = createServer((_request, response) => {
    asked += 1;
    // The refusals, whose bodies nobody needs, come first.
    if (asked <= 100) return response.writeHead(503).end("busy".repeat(10_000));
    response.end(JSON.stringify({ envelopes: { batch: [] } }));
  });
  server.on("connection", (socket) => {
    most = Math.max(most, (open += 1));
    socket.on("close", () => (open -= 1));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const client = telemetryClient({ endpoints: () => [{ url, token: "t" }], timeoutMs: 30_000 });
    const reads = await Promise.allSettled(Array.from({ length: 500 }, () => client.readLogs("app")));
    expect(reads.filter(({ status }) => status === "fulfilled")).toHaveLength(400);
    expect(most).toBeLessThanOrEqual(32);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});
