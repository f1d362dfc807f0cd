// The proxy before a node's platform: what one request leaves behind does not hold up the next of its connection.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Agent, request } from "undici";
import { expect, test } from "vitest";
import { startNodeFront } from "../e2e/support/node-front.ts";

const PATIENCE_MS = 3000;

test("a request after one whose body was refused early is answered", async () => {
  // As the API: it refuses a body that is too large before it has read it.
  const app = createServer((asked, answer) => {
    answer.writeHead(Number(asked.headers["content-length"] ?? 0) > 1e6 ? 413 : 200).end();
  });
  await new Promise<void>((resolve) => app.listen(0, "127.0.0.1", resolve));
  const front = await startNodeFront();
  const ingress = { host: "127.0.0.1", port: (app.address() as AddressInfo).port };
  front.setTargets({ api: { ...ingress, ca: "" }, ingress });
  const client = new Agent({ connections: 1 });
  const send = async (body: string): Promise<number> => {
    const options = {
      method: "POST",
      body,
      headers: { host: "app.example.org" },
      headersTimeout: PATIENCE_MS,
    } as const;
    const answer = await request(`http://127.0.0.1:${front.port}/`, { ...options, dispatcher: client });
    await answer.body.dump();
    return answer.statusCode;
  };
  try {
    for (let round = 0; round < 20; round++) {
      // The door may be shut while the body is sent.
      await send("a".repeat(4_000_000)).catch(() => undefined);
      expect(await send("small")).toBe(200);
    }
  } finally {
    await client.destroy();
    await front.close();
    app.closeAllConnections();
    app.close();
  }
});
