// Texts of servers that send without end, or stop in the middle.
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import type { KubeClient } from "../../kube/client/client.ts";
import { createClient } from "../../kube/client/create-client.ts";
import { readText } from "./read-text.ts";

const running: { server: Server; kube: KubeClient }[] = [];
afterEach(async () => {
  for (const { server, kube } of running.splice(0)) {
    server.closeAllConnections();
    server.close();
    await kube.close();
  }
});

async function serve(answer: (response: ServerResponse) => void): Promise<KubeClient> {
  const server = createServer((_request, response) => answer(response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const kube = createClient({ server: url, auth: { kind: "token", token: "t" } });
  running.push({ server, kube });
  return kube;
}

const request = { path: "/metrics", deadlineMs: 60_000, maxBytes: 1_000, signal: new AbortController().signal };

test("a short text comes whole", async () => {
  const kube = await serve((response) => response.end("up 1\n"));
  expect(await readText(kube, request)).toBe("up 1\n");
});

test("a text without end is cut, and no longer sent", async () => {
  const stopped = Promise.withResolvers<void>();
  const kube = await serve((response) => {
    response.on("close", () => stopped.resolve());
    const send = (): void => {
      if (!response.destroyed) response.write("x".repeat(700), () => setImmediate(send));
    };
    send();
  });
  expect(await readText(kube, request)).toBe("x".repeat(1_000));
  await stopped.promise;
});

test("a body that does not end in time is an error", { timeout: 20_000 }, async () => {
  const kube = await serve((response) => response.write("up 1\n"));
  await expect(readText(kube, { ...request, deadlineMs: 200 })).rejects.toThrow(/timeout/);
});

test("whoever asks may stop in the middle of a body", { timeout: 20_000 }, async () => {
  const stop = new AbortController();
  const kube = await serve((response) => {
    response.write("up 1\n");
    setImmediate(() => stop.abort());
  });
  await expect(readText(kube, { ...request, signal: stop.signal })).rejects.toThrow(/abort/);
});
