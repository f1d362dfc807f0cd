// Lines that go to another replica: over real sockets, in order, again after a failure, to whoever is the owner by then, and bounded.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { AddressInfo } from "node:net";
import { createListener } from "../kube/server/listener.ts";
import { startListening } from "../kube/server/start-listening.ts";
import type { TelemetryEndpoint } from "./endpoint-agent.ts";
import { MAX_PUSH_BYTES, startLogPush, type LogPush } from "./log-push.ts";
import { createTelemetry, telemetryHandler, type Telemetry } from "./telemetry.ts";

const ends: (() => unknown)[] = [];
afterEach(async () => void (await Promise.all(ends.splice(0).map((end) => end()))));

async function serve(telemetry: Telemetry): Promise<TelemetryEndpoint> {
  const server = createListener(
    { share: 0.05 },
    telemetryHandler(telemetry, () => "secret"),
  );
  await startListening(server, { port: 0, host: "127.0.0.1" }, (error) => expect.unreachable(String(error)));
  ends.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, token: "secret" };
}

const dropped: string[] = [];
beforeEach(() => void dropped.splice(0));
function start(findOwner: (source: string) => TelemetryEndpoint | undefined, nowNs?: () => bigint): LogPush {
  const push = startLogPush({
    findOwner,
    onDropped: (reason) => void dropped.push(reason),
    retryMs: 10,
    ...(nowNs && { nowNs }),
  });
  ends.push(() => push.stop());
  return push;
}
const say = (push: LogPush, message: string, source = "app"): void => push.log({ source, sourceType: "API", message });
const said = (telemetry: Telemetry, source = "app"): string[] =>
  telemetry.ring
    .read(source, { limit: 1000 })
    .map(({ tags, log }) => `${tags["source_type"]} ${Buffer.from(log.payload, "base64").toString()}`);

test("arrive in order, each once, with the time at which they were said", async () => {
  const owner = createTelemetry();
  const endpoint = await serve(owner);
  const push = start(
    () => endpoint,
    () => 7_000n,
  );
  for (let at = 0; at < 250; at++) say(push, String(at));
  await vi.waitFor(() => expect(said(owner)).toHaveLength(250));
  expect(said(owner)).toEqual(Array.from({ length: 250 }, (_, at) => `API ${at}`));
  expect(owner.ring.read("app", {})[0]?.timestamp).toBe("7000");
});

test("go to the new owner when the old one is gone, and those of other apps do not wait for it", async () => {
  const [heir, other] = [createTelemetry(), createTelemetry()];
  const [heirAt, otherAt] = [await serve(heir), await serve(other)];
  let owner: TelemetryEndpoint = { url: "http://127.0.0.1:1", token: "secret" };
  const push = start((source) => (source === "app" ? owner : otherAt));
  say(push, "one");
  say(push, "else", "app-2");
  await vi.waitFor(() => expect(said(other, "app-2")).toEqual(["API else"]));
  say(push, "two");
  owner = heirAt;
  await vi.waitFor(() => expect(said(heir)).toEqual(["API one", "API two"]));
  expect(dropped).toEqual([]);
});

test("are dropped after a minute without an owner, and beyond a thousand", async () => {
  let now = 1n;
  const push = start(
    () => undefined,
    () => now,
  );
  for (let at = 0; at < 1001; at++) say(push, String(at));
  expect(dropped).toEqual(["queue full"]);
  now += 61_000_000_000n;
  await vi.waitFor(() => expect(dropped).toHaveLength(1001));
  expect(dropped.at(-1)).toBe("no replica took it");
});

test.each([
  ["no token", { headers: {} }, 401],
  ["no JSON", { body: "{" }, 400],
  ["no lines of ours", { body: JSON.stringify({ entries: [{ source: "app" }] }) }, 400],
  ["too large a body", { body: "x".repeat(MAX_PUSH_BYTES + 1) }, 400],
])("a push with %s is refused and stores nothing", async (_what, change, status) => {
  const owner = createTelemetry();
  const { url } = await serve(owner);
  const response = await fetch(`${url}/logs`, {
    method: "POST",
    headers: { authorization: "Bearer secret" },
    ...change,
  });
  expect(response.status).toBe(status);
  expect(owner.ring.meta()).toEqual({});
});
