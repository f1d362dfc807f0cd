// The endpoint and its client over real sockets: authorization, reads, merging, following, an unreachable class.
import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createListener } from "../kube/server/listener.ts";
import { startListening } from "../kube/server/start-listening.ts";
import { mergeMeta, telemetryClient } from "./telemetry-client.ts";
import type { InstanceStats } from "./envelope.ts";
import { createTelemetry, telemetryHandler, type Telemetry } from "./telemetry.ts";

const cleanUp: (() => Promise<void>)[] = [];
afterEach(async () => void (await Promise.all(cleanUp.splice(0).map((close) => close()))));

async function serve(telemetry: Telemetry, port = 0) {
  const server = createListener(
    { share: 0.05 },
    telemetryHandler(telemetry, () => "secret"),
  );
  await startListening(server, { port, host: "127.0.0.1" }, (error) => expect.unreachable(String(error)));
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  cleanUp.push(close);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}
const endpoint = (url: string) => ({ url, token: "secret" });
const messages = (envelopes: { log: { payload: string } }[]) =>
  envelopes.map((envelope) => Buffer.from(envelope.log.payload, "base64").toString());

describe("telemetry endpoint", () => {
  it("answers only its token", async () => {
    const server = await serve(createTelemetry());
    expect((await fetch(`${server.url}/meta`)).status).toBe(401);
    expect((await fetch(`${server.url}/meta`, { headers: { authorization: "Bearer wrong!" } })).status).toBe(401);
    expect((await fetch(`${server.url}/meta`, { headers: { authorization: "Bearer secret" } })).status).toBe(200);
  });

  it.each(["/logs/%zz", "//"])("answers 400 to %s", async (path) => {
    const server = await serve(createTelemetry());
    const sent = request(`${server.url}/`, { path, headers: { authorization: "Bearer secret" } }).end();
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    expect(response.resume().statusCode).toBe(400);
  });

  it("merges the lines of all classes by time, and reads a shared endpoint once", async () => {
    const [runner, router] = [createTelemetry(), createTelemetry()];
    runner.log({ source: "app", sourceType: "APP/PROC/WEB", message: "1", time: 1n });
    router.log({ source: "app", sourceType: "RTR", message: "2", time: 2n });
    runner.log({ source: "app", sourceType: "APP/PROC/WEB", message: "3", time: 3n });
    const [a, b] = [await serve(runner), await serve(router)];
    const client = telemetryClient({ endpoints: () => [endpoint(a.url), endpoint(b.url), endpoint(a.url)] });
    expect(messages(await client.readLogs("app"))).toEqual(["1", "2", "3"]);
    expect(messages(await client.readLogs("app", { limit: 2, descending: true }))).toEqual(["3", "2"]);
    expect(messages(await client.readLogs("app", { start: 2n, end: 3n }))).toEqual(["2"]);
  });

  it("gives what the others have when one is down, and throws when all are", async () => {
    const telemetry = createTelemetry();
    telemetry.log({ source: "app", sourceType: "STG", message: "here" });
    const [up, down] = [await serve(telemetry), await serve(createTelemetry())];
    await down.close();
    const onError = vi.fn();
    const endpoints = [endpoint(up.url), endpoint(down.url)];
    expect(messages(await telemetryClient({ endpoints: () => endpoints, onError }).readLogs("app"))).toEqual(["here"]);
    expect(onError).toHaveBeenCalledOnce();
    await expect(telemetryClient({ endpoints: () => [endpoint(down.url)] }).readLogs("app")).rejects.toThrow(
      "no telemetry endpoint answers",
    );
  });

  it("follows across a restart of the endpoint", async () => {
    const telemetry = createTelemetry();
    telemetry.log({ source: "app", sourceType: "STG", message: "before", time: 1n });
    const first = await serve(telemetry);
    const abort = new AbortController();
    const lines = telemetryClient({ endpoints: () => [endpoint(first.url)] }).followLogs("app", {
      start: 0n,
      signal: abort.signal,
    });
    const next = async () => messages([(await lines.next()).value as { log: { payload: string } }])[0];
    expect(await next()).toBe("before");
    telemetry.log({ source: "app", sourceType: "STG", message: "live" });
    expect(await next()).toBe("live");
    await first.close();
    await serve(telemetry, Number(new URL(first.url).port));
    telemetry.log({ source: "app", sourceType: "STG", message: "after" });
    expect(await next()).toBe("after");
    abort.abort();
    expect((await lines.next()).done).toBe(true);
  });

  it("asks every provider for stats; one that fails is reported and does not spoil the rest", async () => {
    const onError = vi.fn();
    const telemetry = createTelemetry({ onError });
    telemetry.registerStats((query) => [{ process: query.process, index: 0 } as InstanceStats]);
    telemetry.registerStats(() => Promise.reject(new Error("broken")));
    const client = telemetryClient({ endpoints: () => [], timeoutMs: 1000 });
    expect(await client.stats({ process: "p" })).toEqual([]);
    const server = await serve(telemetry);
    expect(await telemetryClient({ endpoints: () => [endpoint(server.url)] }).stats({ process: "p" })).toEqual([
      { process: "p", index: 0 },
    ]);
    expect(onError).toHaveBeenCalledOnce();
  });
});

it("a source at several endpoints has the sum of their lines and the widest range of times", () => {
  const meta = (count: string, oldestTimestamp: string, newestTimestamp: string) => ({
    app: { count, expired: "1", oldestTimestamp, newestTimestamp },
  });
  expect(mergeMeta([meta("2", "900", "1000"), meta("3", "10000", "20000"), {}])).toEqual({
    app: { count: "5", expired: "2", oldestTimestamp: "900", newestTimestamp: "20000" },
  });
});
