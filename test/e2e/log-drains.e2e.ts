// Log drains on a platform: a user-provided one by syslog, one of a broker, and an end with the binding. Failures are in the app's own log.
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../eventually.ts";
import { TEST_CATALOG } from "../service-broker/behaviour.ts";
import { startTestBroker, type TestBroker } from "../service-broker/test-broker.ts";
import { startTestPlatform } from "./support/start-test-platform.ts";
import type { TestPlatform } from "./support/test-platform.ts";

const SERVER = `
require("http").createServer((request, response) => {
  console.log("asked for " + request.url);
  console.error("failed for " + request.url);
  response.end("ok");
}).listen(process.env.PORT);
`;

let stage: TestPlatform;
let broker: TestBroker;
const sink = { lines: "", sockets: new Set<Socket>(), server: undefined as Server | undefined, port: 0 };

beforeAll(async () => {
  stage = await startTestPlatform();
  broker = await startTestBroker({ host: stage.hostAddress });
  await listen();
  await cup("login", "--api", stage.url, "--user", "admin");
  await cup("target", "-o", "local", "-s", "dev");
  const folder = join(stage.home, "talker");
  mkdirSync(folder);
  writeFileSync(join(folder, "server.js"), SERVER);
  await cup("push", "talker", "--path", folder, "-m", "96M");
});
afterAll(async () => {
  for (const socket of sink.sockets) socket.destroy();
  sink.server?.close();
  await broker?.close();
  await stage?.stop();
});

async function listen(port = 0): Promise<void> {
  sink.server = createServer((socket) => {
    sink.sockets.add(socket);
    socket.on("error", () => undefined).on("data", (chunk: Buffer) => (sink.lines += chunk.toString()));
  }).listen(port, stage.hostAddress);
  await once(sink.server, "listening");
  sink.port = (sink.server.address() as AddressInfo).port;
}

async function cup(...args: string[]): Promise<string> {
  const { code, output } = await stage.cup(...args);
  expect(code, `cup ${args.join(" ")}\n${output}`).toBe(0);
  return output;
}

/** Asks the app until the drain has a line about it. */
async function untilDrained(path: string): Promise<void> {
  await eventually(async () => {
    await stage.get("talker.apps.localhost", path);
    expect(sink.lines).toContain(`asked for ${path}`);
  }, 30_000);
}

test("the lines of an app, from the binding on, without a restart", async () => {
  await stage.get("talker.apps.localhost", "/before");
  await cup("create-user-provided-service", "logs", "--syslog-drain", `syslog://${stage.hostAddress}:${sink.port}`);
  await cup("bind", "talker", "logs");
  await untilDrained("/drained");
  expect(sink.lines).toMatch(
    /\d+ <14>1 \S+ local\.dev\.talker \S+ \[APP\/PROC\/WEB\/0\] - \[tags@47450 [^\n]*app_name="talker"[^\n]*\] asked for \/drained\n/,
  );
  expect(sink.lines).toMatch(/<11>1 [^\n]* failed for \/drained\n/);
  // Routers of a cluster are not ours.
  if (stage.on === "laptop") expect(sink.lines).toMatch(/ \[RTR\/\d+\] - [^\n]*\/drained/);
  expect(sink.lines).not.toContain("/before");
});

test("a drain that is away is told in the app's log, and gets what waited when it is back", async () => {
  for (const socket of sink.sockets) socket.destroy();
  sink.server?.close();
  await eventually(async () => {
    await stage.get("talker.apps.localhost", "/waiting");
    expect(await cup("logs", "talker", "--recent")).toContain(`log drain at ${stage.hostAddress} takes no messages`);
  }, 30_000);
  await listen(sink.port);
  await eventually(() => expect(sink.lines).toContain("asked for /waiting"), 60_000);
});

test("unbound, it gets nothing more", async () => {
  await cup("unbind", "talker", "logs");
  let asked = 0;
  await eventually(async () => {
    const path = `/unbound-${++asked}`;
    await stage.get("talker.apps.localhost", path);
    await eventually(async () => expect(await cup("logs", "talker", "--recent")).toContain(path));
    expect(sink.lines).not.toContain(path);
  }, 30_000);
});

test("a broker's drain", async () => {
  const { url, username, password } = broker;
  const [service] = TEST_CATALOG.services;
  const catalog = { services: [{ ...service, requires: ["syslog_drain"] }] };
  broker.set({
    catalog,
    behaviours: { bind: { more: { syslog_drain_url: `syslog://${stage.hostAddress}:${sink.port}` } } },
  });
  const authentication = { type: "basic", credentials: { username, password } };
  await cup("curl", "-X", "POST", "/v3/service_brokers", "-d", JSON.stringify({ name: "b", url, authentication }));
  const plans = await eventually(async () => {
    const { resources } = await stage.cupJson<{ resources: { guid: string }[] }>("curl", "/v3/service_plans");
    expect(resources).toHaveLength(2);
    return resources;
  });
  for (const { guid } of plans)
    await cup("curl", "-X", "POST", `/v3/service_plans/${guid}/visibility`, "-d", '{"type": "public"}');
  await cup("create-service", "database", "drain", "--plan", "small");
  await cup("bind", "talker", "drain");
  await untilDrained("/of-a-broker");
});
