// The broker of databases on one machine: what it says without their programs, and with Redis the answers of the specification.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommand } from "../../../scripts/run-command.ts";
import { findProgram } from "../../find-program.ts";

const BROKER = join(import.meta.dirname, "..", "..", "..", "examples", "database-broker", "broker.cjs");
const IDS = { service_id: "6e2cb3e6-5cf5-4d1c-9f4e-7d1c0b0c1b01", plan_id: "6e2cb3e6-5cf5-4d1c-9f4e-7d1c0b0c1b02" };
const PLACE = { organization_guid: "o", space_guid: "s" };
const QUERY = new URLSearchParams(IDS).toString();
const INSTANCE = "/v2/service_instances/i1";
const BINDING = `${INSTANCE}/service_bindings/b1`;

test("a machine without the programs is told what to install", async () => {
  const folder = mkdtempSync(join(tmpdir(), "databases-"));
  const env = { PATH: "", DATA: folder, BROKER_USER: "u", BROKER_PASSWORD: "p" };
  const { code, output } = await runCommand([process.execPath, BROKER, "redis"], { cwd: folder, deadlineMs: 10_000, env });
  rmSync(folder, { recursive: true });
  expect(code).toBe(1);
  expect(output.trim()).toBe("this machine has no Redis: install Redis, on Debian and Ubuntu: sudo apt install redis-server");
});

const reason = findProgram("redis-server") ? undefined : "this machine has no Redis";

describe.skipIf(reason)(`with Redis${reason ? `: ${reason}` : ""}`, () => {
  let folder: string;
  let broker: ChildProcess;
  let base: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "databases-"));
    await start();
  });
  afterAll(async () => {
    broker.kill("SIGTERM");
    await once(broker, "exit");
    rmSync(folder, { recursive: true });
  });

  async function start(): Promise<void> {
    broker = spawn(process.execPath, [BROKER, "redis"], {
      env: { PATH: process.env["PATH"] ?? "", DATA: folder, PORT: "0", BROKER_USER: "u", BROKER_PASSWORD: "p" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = (await once(broker.stdout!, "data")) as [Buffer];
    base = `http://127.0.0.1:${/\d+/.exec(line.toString())?.[0]}`;
  }

  interface Answer {
    status: number;
    body: { credentials?: { uri: string }; description?: string };
  }

  async function ask(method: string, path: string, body?: object, headers: object = {}): Promise<Answer> {
    const answer = await fetch(base + path, {
      method,
      headers: {
        authorization: `Basic ${Buffer.from("u:p").toString("base64")}`,
        "x-broker-api-version": "2.17",
        ...headers,
      },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(30_000),
    });
    return { status: answer.status, body: (await answer.json()) as Answer["body"] };
  }

  const redis = (uri: string, ...args: string[]) =>
    runCommand(["redis-cli", "-u", uri, "--no-auth-warning", "-e", ...args], { cwd: folder, deadlineMs: 10_000 });

  test.each<[string, { method: string; path: string; body?: object; headers?: object }, number]>([
    ["a wrong password", { method: "GET", path: "/v2/catalog", headers: { authorization: "Basic eDp5" } }, 401],
    ["no version", { method: "GET", path: "/v2/catalog", headers: { "x-broker-api-version": "" } }, 412],
    ["no ids", { method: "PUT", path: INSTANCE, body: PLACE }, 400],
    ["another plan", { method: "PUT", path: INSTANCE, body: { ...IDS, ...PLACE, plan_id: "x" } }, 400],
    ["parameters", { method: "PUT", path: INSTANCE, body: { ...IDS, ...PLACE, parameters: { size: 1 } } }, 400],
    ["no org", { method: "PUT", path: INSTANCE, body: IDS }, 400],
    ["an update", { method: "PATCH", path: INSTANCE, body: IDS }, 405],
    ["a binding of none", { method: "PUT", path: BINDING, body: IDS }, 404],
    ["the deletion of none", { method: "DELETE", path: `${INSTANCE}?${QUERY}` }, 410],
    ["an unknown instance", { method: "GET", path: INSTANCE }, 404],
  ])("%s is refused", async (_what, { method, path, body, headers }, status) => {
    expect((await ask(method, path, body, headers)).status).toBe(status);
  });

  test("an instance and a binding: made once, the same again, another is a conflict, and gone", async () => {
    const app = { ...IDS, bind_resource: { app_guid: "a" } };
    const statuses = async (...asked: [string, string, object?][]): Promise<number[]> => {
      const found: number[] = [];
      for (const [method, path, body] of asked) found.push((await ask(method, path, body)).status);
      return found;
    };
    expect(await statuses(["PUT", INSTANCE, { ...IDS, ...PLACE }], ["PUT", INSTANCE, { ...IDS, ...PLACE }])).toEqual([201, 200]);
    const first = await ask("PUT", BINDING, app);
    expect(first.status).toBe(201);
    expect(await ask("PUT", BINDING, app)).toEqual({ status: 200, body: first.body });
    expect(await ask("GET", BINDING)).toEqual({ status: 200, body: first.body });
    expect((await ask("PUT", BINDING, { ...IDS, bind_resource: { app_guid: "b" } })).status).toBe(409);
    const uri = first.body.credentials?.uri ?? "";
    expect((await redis(uri, "SET", "a", "b")).code).toBe(0);
    expect((await redis(uri, "CONFIG", "GET", "dir")).code).not.toBe(0);
    // A killed broker leaves its servers, and the next one finds them.
    broker.kill("SIGKILL");
    await once(broker, "exit");
    expect((await redis(uri, "GET", "a")).output).toContain("b");
    await start();
    expect((await redis(uri, "GET", "a")).output).toContain("b");
    expect(await statuses(["DELETE", `${BINDING}?${QUERY}`], ["DELETE", `${BINDING}?${QUERY}`])).toEqual([200, 410]);
    expect((await redis(uri, "GET", "a")).code).not.toBe(0);
    expect(await statuses(["DELETE", `${INSTANCE}?${QUERY}`], ["GET", INSTANCE])).toEqual([200, 404]);
  });
});
