// Databases of this machine: on a laptop enabled by one command, on a node by an operator, whose broker is outside the cluster; bound to apps of two spaces, kept over a stop and a kill, and a binding replaced under load without a failed request.
import { spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { createConnection } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../cluster/free-port.ts";
import { runCommand } from "../../scripts/run-command.ts";
import { eventually } from "../eventually.ts";
import { findProgram } from "../find-program.ts";
import { cfOn, whyNoCf } from "./support/cf.ts";
import { whyNoPostgres } from "./support/postgres.ts";
import { chosenPlatformKind, startTestPlatform } from "./support/start-test-platform.ts";
import { startSteadyLoad } from "./support/steady-load.ts";
import type { TestPlatform } from "./support/test-platform.ts";

const BROKER = join(import.meta.dirname, "..", "..", "examples", "database-broker", "broker.cjs");
const onLaptop = chosenPlatformKind() === "laptop";
const CLIENT = "pg@8.16.3";
const reason = whyNoCf() ?? whyNoPostgres();

/** `/write?TEXT` keeps a note, `/` tells all notes, `/user` who asks. */
const SERVER = `
const { Pool } = require("pg");
const bound = JSON.parse(process.env.VCAP_SERVICES).postgres[0].credentials;
const pool = new Pool({ connectionString: bound.uri, max: 4 });
pool.on("error", (error) => console.error(error.message));
const made = pool.query("CREATE TABLE IF NOT EXISTS notes (text text)");
require("http").createServer(async (request, response) => {
  try {
    await made;
    const url = new URL(request.url, "http://app");
    if (url.pathname === "/user") return response.end(bound.username);
    if (url.pathname === "/write") await pool.query("INSERT INTO notes VALUES ($1)", [url.searchParams.get("text")]);
    const { rows } = await pool.query("SELECT text FROM notes ORDER BY text");
    response.end(rows.map(({ text }) => text).join());
  } catch (error) {
    response.writeHead(500).end(error.message);
  }
}).listen(process.env.PORT);
`;

describe.skipIf(reason)(`databases of this machine${reason ? `: ${reason}` : ""}`, () => {
  let stage: TestPlatform;
  let folder: string;
  let broker: ChildProcess | undefined;

  beforeAll(async () => {
    stage = await startTestPlatform();
    folder = join(stage.home, "notes");
    mkdirSync(folder);
    writeFileSync(join(folder, "server.js"), SERVER);
    writeFileSync(
      join(folder, "package.json"),
      '{"name": "notes", "version": "1.0.0", "scripts": {"start": "node server.js"}}',
    );
    const installed = await runCommand(["npm", "install", "--no-audit", "--no-fund", CLIENT], {
      cwd: folder,
      deadlineMs: 120_000,
    });
    expect(installed.code, installed.output).toBe(0);
    await eventually(() => cf("api", stage.url), 180_000);
    await cup("login", "--api", stage.url, "--user", "admin");
    await cup("target", "-o", "local", "-s", "dev");
    await cf("auth", "admin");
    await cf("create-space", "other", "-o", "local");
    await cf("target", "-o", "local", "-s", "dev");
  }, 900_000);
  afterAll(async () => {
    if (stage && !onLaptop) await cfOn(stage)("delete-space", "other", "-o", "local", "-f");
    if (broker) await ended(broker);
    await stage?.stop();
  });

  const run = async (command: Promise<{ code: number | null; output: string }>, what: string): Promise<string> => {
    const { code, output } = await command;
    expect(code, `${what}\n${output}`).toBe(0);
    return output;
  };
  const cup = (...args: string[]): Promise<string> => run(stage.cup(...args), `cup ${args.join(" ")}`);
  const cf = (...args: string[]): Promise<string> => run(cfOn(stage)(...args), `cf ${args.join(" ")}`);

  async function ask(app: string, path = "/"): Promise<string> {
    const { status, body } = await stage.get(`${app}.apps.localhost`, path);
    expect(status, body).toBe(200);
    return body;
  }

  test.runIf(onLaptop)("one command puts postgres in the marketplace, and says what this machine has not", async () => {
    expect((await stage.cup("services", "enable", "mysql")).output).toContain("postgres and redis, not mysql");
    expect(await cup("services", "enable", "postgres")).toContain("Next: cup create-service postgres");
    expect(await cup("marketplace")).toMatch(/postgres +small/);
    // Again is no fault.
    await cup("services", "enable", "postgres");
  });

  test.skipIf(onLaptop)(
    "an operator registers a broker that runs beside the cluster",
    async () => {
      const port = await freePort();
      broker = spawn(process.execPath, [BROKER, "postgres"], {
        env: {
          ...process.env,
          DATA: join(stage.home, "databases"),
          BROKER_USER: "broker",
          BROKER_PASSWORD: "secret",
          PORT: String(port),
          ADDRESS: stage.hostAddress,
          DATABASE_ADDRESS: stage.hostAddress,
        },
        stdio: ["ignore", "pipe", "inherit"],
      });
      await once(broker.stdout!, "data", { signal: AbortSignal.timeout(60_000) });
      await cf("create-service-broker", "databases", "broker", "secret", `http://${stage.hostAddress}:${port}`);
      await cf("enable-service-access", "postgres");
    },
    120_000,
  );

  test("apps of two spaces write and read one database", async () => {
    await cf("create-service", "postgres", "small", "db", "--wait");
    await cf("enable-feature-flag", "service_instance_sharing");
    await cf("share-service", "db", "-s", "other");
    await cf("push", "notes", "-p", folder, "-m", "128M", "--no-start");
    await cf("bind-service", "notes", "db", "--wait");
    await cf("start", "notes");
    expect(await ask("notes", "/write?text=first")).toBe("first");
    await cf("target", "-s", "other");
    await cf("push", "reader", "-p", folder, "-m", "128M", "--no-start");
    await cf("bind-service", "reader", "db", "--wait");
    await cf("start", "reader");
    expect(await ask("reader", "/write?text=second")).toBe("first,second");
    expect(await ask("notes")).toBe("first,second");
    expect(await ask("notes", "/user")).not.toBe(await ask("reader", "/user"));
    await cf("target", "-s", "dev");
  });

  test("a binding is replaced under load, and no request fails", async () => {
    const before = await ask("notes", "/user");
    const load = startSteadyLoad({ send: () => stage.get("notes.apps.localhost", "/") });
    await cf("bind-service", "notes", "db", "--strategy", "multiple", "--wait");
    await cf("restart", "notes", "--strategy", "rolling");
    await cf("cleanup-outdated-service-bindings", "notes", "--service-instance", "db", "--force", "--wait");
    await eventually(async () => expect(await ask("notes", "/user")).not.toBe(before));
    const since = load.requests();
    await eventually(() => expect(load.requests()).toBeGreaterThan(since + 20));
    await load.stop();
    console.log(`rotation: ${load.requests()} requests, ${load.failures.length} failed`);
    expect(load.failures).toEqual([]);
    expect(load.requests()).toBeGreaterThan(40);
    expect(await cup("service", "db")).toMatch(/app +notes +create succeeded/);
  }, 240_000);

  test.runIf(onLaptop)(
    "the data is there after a stop and after a kill",
    async () => {
      const { port } = new URL(await databaseURL());
      await run(
        runCommand([process.execPath, join(import.meta.dirname, "../../bin/cup.js"), "local", "stop"], {
          cwd: stage.home,
          deadlineMs: 60_000,
          env: { CUPOLA_HOME: stage.home },
        }),
        "cup local stop",
      );
      expect(await answers(Number(port))).toBe(false);
      await stage.start();
      await eventually(async () => expect(await ask("notes")).toBe("first,second"));
      await stage.kill(0);
      await stage.start();
      await eventually(async () => expect(await ask("reader", "/write?text=third")).toContain("first,second,third"));
    },
    240_000,
  );

  async function databaseURL(): Promise<string> {
    const env = await stage.cupJson<{
      system_env_json: { VCAP_SERVICES: { postgres: { credentials: { uri: string } }[] } };
    }>("env", "notes");
    return env.system_env_json.VCAP_SERVICES.postgres[0]?.credentials.uri ?? "";
  }

  test("nothing is left of a deleted instance", async () => {
    await cf("unbind-service", "notes", "db", "--wait");
    await cf("unshare-service", "db", "-s", "other", "-f");
    await cf("delete-service", "db", "-f", "--wait");
    await cf("create-service", "postgres", "small", "db", "--wait");
    await cf("bind-service", "notes", "db", "--wait");
    await cf("restart", "notes");
    expect(await ask("notes")).toBe("");
  });

  test.skipIf(!onLaptop || !findProgram("redis-server"))("redis beside it", async () => {
    await cup("services", "enable", "redis");
    await cup("create-service", "redis", "cache");
    await cf("create-service-key", "cache", "key", "--wait");
    const [, uri = ""] = /"(redis:[^"]+)"/.exec(await cf("service-key", "cache", "key")) ?? [];
    const client = (...args: string[]): Promise<string> =>
      run(
        runCommand(["redis-cli", "-u", uri, "--no-auth-warning", "-e", ...args], {
          cwd: stage.home,
          deadlineMs: 10_000,
        }),
        args.join(" "),
      );
    await client("SET", "a", "b");
    expect(await client("GET", "a")).toContain("b");
    await expect(client("CONFIG", "GET", "dir")).rejects.toThrow();
    await stage.kill(0);
    await stage.start();
    await eventually(async () => expect(await client("GET", "a")).toContain("b"));
    await cf("delete-service-key", "cache", "key", "-f", "--wait");
    await cf("delete-service", "cache", "-f", "--wait");
    expect(await answers(Number(new URL(uri).port))).toBe(false);
  });
});

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    }).on("error", () => resolve(false));
  });
}

/** Ends the broker, and its databases with it. */
async function ended(broker: ChildProcess): Promise<void> {
  const over = once(broker, "exit");
  broker.kill("SIGTERM");
  await over;
}
