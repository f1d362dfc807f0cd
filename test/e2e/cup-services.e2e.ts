// Services by cup: a marketplace, instances and bindings of a broker that takes its time, of one that fails, and without a broker.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../eventually.ts";
import { startTestBroker, type TestBroker } from "../service-broker/test-broker.ts";
import { startTestPlatform } from "./support/start-test-platform.ts";
import type { TestPlatform } from "./support/test-platform.ts";

let stage: TestPlatform;
let broker: TestBroker;

beforeAll(async () => {
  stage = await startTestPlatform();
  broker = await startTestBroker({ host: stage.hostAddress });
  await cup("login", "--api", stage.url, "--user", "admin");
  await cup("target", "-o", "local", "-s", "dev");
});
afterAll(async () => {
  await broker?.close();
  await stage?.stop();
});

async function cup(...args: string[]): Promise<string> {
  const { code, output } = await stage.cup(...args);
  expect(code, `cup ${args.join(" ")}\n${output}`).toBe(0);
  return output;
}

async function send(method: string, path: string, body: object): Promise<void> {
  await cup("curl", "-X", method, path, "-d", JSON.stringify(body));
}

test("an empty space names the next step", async () => {
  expect(await cup("services")).toContain("Next: cup marketplace");
  expect(await cup("marketplace")).toContain("Next: cf create-service-broker");
});

test("the marketplace has the plans that the space may use", async () => {
  const { url, username, password } = broker;
  await send("POST", "/v3/service_brokers", {
    name: "test",
    url,
    authentication: { type: "basic", credentials: { username, password } },
  });
  const plans = await eventually(async () => {
    const { resources } = await stage.cupJson<{ resources: { guid: string }[] }>("curl", "/v3/service_plans");
    expect(resources).toHaveLength(2);
    return resources;
  });
  for (const { guid } of plans) await send("POST", `/v3/service_plans/${guid}/visibility`, { type: "public" });
  expect(await cup("marketplace")).toMatch(/database +large \(paid\), small +A database/);
  expect(await cup("marketplace", "database")).toMatch(/large +paid +A large one/);
  expect((await stage.cup("marketplace", "none")).output).toContain("Next: cup marketplace");
});

test("an asynchronous creation is told as it goes on", async () => {
  const { output } = await stage.cup("create-service", "database", "db");
  expect(output).toContain("the same again with --plan");
  broker.set({ behaviours: { provision: { async: { polls: 2 } } } });
  const told = await cup("create-service", "database", "db", "--plan", "small", "-c", '{"size": 1}');
  expect(told).toContain("working on it");
  expect(told.trimEnd().split("\n").at(-1)).toBe("db is there. Next: cup bind APP db");
  expect(broker.requests("provision").at(-1)?.body).toMatchObject({ parameters: { size: 1 } });
});

test("a binding gives its credentials from the next start on", async () => {
  broker.set({ behaviours: {} });
  const folder = join(stage.home, "site");
  mkdirSync(folder);
  writeFileSync(join(folder, "index.html"), "hello\n");
  writeFileSync(join(folder, "Staticfile"), "");
  await cup("push", "shop", "--path", folder, "-m", "64M");
  expect(await cup("bind", "shop", "db", "--name", "main")).toContain("Next: cup restart shop");
  expect(await stage.cupJson<object[]>("services")).toMatchObject([
    { name: "db", offering: "database", plan: "small", apps: ["shop"], last_operation: { state: "succeeded" } },
  ]);
  expect(await cup("service", "db")).toMatch(/app +shop +create succeeded/);
  const env = await stage.cupJson<{ system_env_json: { VCAP_SERVICES: object } }>("env", "shop");
  expect(env.system_env_json.VCAP_SERVICES).toMatchObject({ database: [{ name: "main", instance_name: "db" }] });
  expect(await cup("unbind", "shop", "db")).toContain("Next: cup restart shop");
  expect((await stage.cup("unbind", "shop", "db")).output).toContain("db is not bound to shop");
});

test("a failure has the broker's words and the next step", async () => {
  const text = JSON.stringify({ description: "no room left" });
  broker.set({ behaviours: { provision: { answer: { status: 400, text } } } });
  const { code, output } = await stage.cup("create-service", "database", "second", "--plan", "small");
  expect(code).toBe(1);
  expect(output).toContain("no room left");
  expect(output).toContain("Next: cup service second");
  expect(await cup("service", "second")).toContain("Next: cup delete-service second, then cup create-service again");
});

test("without waiting it says that the broker works", async () => {
  broker.set({ behaviours: { deprovision: { async: { polls: 1 } } } });
  expect(await cup("delete-service", "db", "--force", "--no-wait")).toContain("db is being deleted");
  await cup("delete-service", "second", "--force");
  await eventually(async () => expect(await cup("services")).toContain("No service instances"));
  expect(broker.things()).toEqual([]);
});

test("a user-provided instance", async () => {
  const credentials = join(stage.home, "credentials.json");
  writeFileSync(credentials, '{"uri": "postgres://u:p@h/d"}');
  await cup("create-user-provided-service", "legacy", "--credentials", credentials, "--tags", "sql, old");
  await cup("bind", "shop", "legacy");
  expect(await cup("service", "legacy")).toMatch(/tags: +sql, old/);
  await cup("delete-service", "legacy", "--force");
  expect(await cup("services")).toContain("No service instances");
});
