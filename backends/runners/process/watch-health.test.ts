// Messages about a starting instance whose check fails, and the end of the watch.
import { once } from "node:events";
import { createServer as createHTTPServer } from "node:http";
import { createServer, type AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { watchHealth } from "./watch-health.ts";

/** A port that nobody listens on. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** The problems told until the start time-out of a second, and the one at its end. */
async function waitForNobody(listening: number[]): Promise<{ port: number; told: string[]; end: string }> {
  const port = await freePort();
  const told: string[] = [];
  const why = (problem: object | undefined): string => String((problem as { why?: string } | undefined)?.why);
  const end = await watchHealth(
    {
      lrp: { spec: { healthCheck: { type: "port", timeoutSeconds: 1 } } } as never,
      target: { host: "127.0.0.1", ports: [port] },
      up: false,
      startTimeoutMs: 1000,
      startCheckMs: 50,
      listeningPorts: () => Promise.resolve(listening),
      isWithinLimits: () => Promise.resolve(true),
      signal: new AbortController().signal,
    },
    { onUp: () => undefined, onReady: () => undefined, onWaiting: (problem) => void told.push(why(problem)) },
  );
  return { port, told, end: why(end) };
}

test("that it listens on another port than PORT, at once and in the end", async () => {
  const { port, told, end } = await waitForNobody([3456]);
  const sentence = `it listens on port 3456, not on ${port}, the port in PORT`;
  expect({ told, end }).toEqual({ told: [sentence], end: sentence });
});

test("what the check says, when it listens nowhere", async () => {
  const { port, told, end } = await waitForNobody([]);
  expect({ told, end }).toEqual({ told: [], end: `Failed to make TCP connection to port ${port}: connection refused` });
});

test("an instance that is stopped while its readiness is checked ends the watch, and nothing else", async () => {
  const control = new AbortController();
  const server = createHTTPServer((_request, response) => {
    control.abort("stop");
    response.end("ready");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const end = await watchHealth(
      {
        lrp: { spec: { healthCheck: { type: "process" }, readinessHealthCheck: { type: "http" } } } as never,
        target: { host: "127.0.0.1", ports: [(server.address() as AddressInfo).port] },
        up: true,
        startTimeoutMs: 1000,
        startCheckMs: 50,
        listeningPorts: () => Promise.resolve([]),
        isWithinLimits: () => Promise.resolve(true),
        signal: control.signal,
      },
      { onUp: () => undefined, onReady: () => undefined, onWaiting: () => undefined },
    );
    // A rejection that nobody handles would end the platform; here it fails the run.
    expect(end).toBeUndefined();
  } finally {
    server.close();
  }
});
