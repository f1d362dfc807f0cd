// The broker of databases as the laptop runs it: a start that fails says why, and no server outlives a stop.
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readBrokerAccess, startDatabaseBroker, stopDatabase } from "./database-broker.ts";
import { homeAt, type Home } from "./home.ts";

const hasRedis = (process.env["PATH"] ?? "").split(":").some((folder) => existsSync(join(folder, "redis-server")));
const options = { log: pino({ level: "silent" }), signal: new AbortController().signal };
let home: Home;

beforeEach(() => void (home = homeAt(mkdtempSync(join(tmpdir(), "home-")))));
afterEach(async () => {
  await stopDatabase(home, "redis");
  rmSync(home.dir, { recursive: true, force: true });
});

/** The pid of an instance's server, if it runs. */
function serverOf(instance: string): number | undefined {
  try {
    return Number(readFileSync(join(home.dir, "services", "redis", instance, "pid"), "utf8"));
  } catch {
    return undefined; // none runs
  }
}

describe.skipIf(!hasRedis)(`with Redis${hasRedis ? "" : ": this machine has none"}`, () => {
  test("a broker keeps its port and its servers, until it is stopped", async () => {
    const first = await startDatabaseBroker(home, "redis", options);
    const instance = await provision(first.url);
    expect(serverOf(instance)).toBeDefined();
    await first.stop();
    expect(serverOf(instance)).toBeUndefined();
    const second = await startDatabaseBroker(home, "redis", options);
    expect(second.url).toBe(first.url);
    expect(serverOf(instance)).toBeDefined();
    await second.stop();
  });

  test("a port that is taken is told, and the servers end with a stop all the same", async () => {
    const first = await startDatabaseBroker(home, "redis", options);
    const instance = await provision(first.url);
    await first.stop();
    const other = createServer().listen(Number(new URL(first.url).port), "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const failed = startDatabaseBroker(home, "redis", options);
    await expect(failed).rejects.toThrow(`port ${port} of the broker is taken by another program`);
    expect(serverOf(instance)).toBeDefined();
    await stopDatabase(home, "redis");
    expect(serverOf(instance)).toBeUndefined();
    other.close();
  });
});

/** The name of a new instance's folder. */
async function provision(url: string): Promise<string> {
  const { username, password } = readBrokerAccess(home, "redis") ?? { username: "", password: "" };
  const headers = {
    authorization: `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`,
    "x-broker-api-version": "2.17",
  };
  const signal = AbortSignal.timeout(30_000);
  const catalog = (await (await fetch(`${url}/v2/catalog`, { headers, signal })).json()) as {
    services: { id: string; plans: { id: string }[] }[];
  };
  const [service] = catalog.services;
  const body = JSON.stringify({
    service_id: service?.id,
    plan_id: service?.plans[0]?.id,
    organization_guid: "o",
    space_guid: "s",
  });
  const { status } = await fetch(`${url}/v2/service_instances/i`, { method: "PUT", headers, body, signal });
  expect(status).toBe(201);
  const state = JSON.parse(readFileSync(join(home.dir, "services", "redis", "state.json"), "utf8")) as {
    instances: Record<string, object>;
  };
  return Object.keys(state.instances)[0] ?? "";
}
