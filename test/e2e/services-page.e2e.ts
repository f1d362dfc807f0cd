// docs/services.md, followed to the letter: each of its commands is run by a shell, in the order of the page, on a laptop with the app `shop`.
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommand } from "../../scripts/run-command.ts";
import { findProgram } from "../find-program.ts";
import { TEST_CATALOG } from "../service-broker/behaviour.ts";
import { startTestBroker, type TestBroker } from "../service-broker/test-broker.ts";
import { whyNoCf } from "./support/cf.ts";
import { whyNoPostgres } from "./support/postgres.ts";
import { startTestPlatform } from "./support/start-test-platform.ts";
import type { TestPlatform } from "./support/test-platform.ts";

const CHECKOUT = join(import.meta.dirname, "..", "..");
const PAGE = readFileSync(join(CHECKOUT, "docs", "services.md"), "utf8");
const BLOCKS = [...PAGE.matchAll(/^ *```sh\n([\s\S]*?)^ *```$/gm)].map(([, text = ""]) => text);
const COMMANDS = BLOCKS.flatMap((text) => text.split("\n").map((line) => line.trim())).filter(Boolean);
const reason = whyNoCf() ?? whyNoPostgres();

test("the page is read as it is meant", () => {
  expect(COMMANDS.length).toBeGreaterThan(15);
  expect(COMMANDS.filter((line) => !/^(cup|cf) /.test(line))).toEqual([]);
});

describe.skipIf(reason)(`the commands of docs/services.md${reason ? `: ${reason}` : ""}`, () => {
  let stage: TestPlatform;
  let broker: TestBroker;
  /** The operator's, whose offering is another one. */
  let caches: TestBroker;
  let env: Record<string, string>;

  beforeAll(async () => {
    [stage, broker, caches] = await Promise.all([startTestPlatform(), startTestBroker(), startTestBroker()]);
    const [service] = TEST_CATALOG.services;
    const plans = [{ id: "cache-small", name: "small", description: "A small one" }];
    caches.set({ catalog: { services: [{ ...service, id: "cache-id", name: "cache", plans }] } });
    const programs = join(stage.home, "programs");
    mkdirSync(programs);
    writeFileSync(
      join(programs, "cup"),
      `#!/bin/sh\nexec ${process.execPath} ${join(CHECKOUT, "cli", "cup.ts")} "$@"\n`,
    );
    chmodSync(join(programs, "cup"), 0o755);
    const cf = process.env["CF_BIN"] ?? findProgram("cf") ?? "cf";
    writeFileSync(join(programs, "cf"), `#!/bin/sh\nexec ${cf} "$@"\n`);
    chmodSync(join(programs, "cf"), 0o755);
    env = {
      PATH: `${programs}${delimiter}${process.env["PATH"] ?? ""}`,
      CUPOLA_HOME: stage.home,
      CUP_HOME: join(stage.home, "cup"),
      KUBECONFIG: stage.kubeconfig,
      CF_HOME: stage.home,
      NO_COLOR: "1",
      BROKER_USER: caches.username,
      BROKER_PASSWORD: caches.password,
      BROKER_URL: caches.url,
    };
    writeFileSync(join(stage.home, "db.json"), '{"uri": "postgres://u:p@db.example.com/shop"}');
    const { url, username, password } = broker;
    for (const command of [
      `cup login --api ${stage.url} --user admin`,
      "cup target -o local -s dev",
      `cf api ${stage.url} && cf auth admin && cf target -o local -s dev`,
      `cf create-service-broker test ${username} ${password} ${url} && cf enable-service-access database`,
      `cup push shop --path ${join(CHECKOUT, "examples", "hello")} -m 128M`,
    ])
      await run(command);
  }, 240_000);
  afterAll(async () => {
    await Promise.all([broker?.close(), caches?.close()]);
    await stage?.stop();
  });

  async function run(command: string): Promise<string> {
    const { code, output } = await runCommand(["sh", "-c", command], { cwd: stage.home, deadlineMs: 120_000, env });
    expect(code, `${command}\n${output}`).toBe(0);
    return output;
  }

  test.each(COMMANDS)("%s", { timeout: 180_000 }, async (command) => {
    await run(command);
  });

  test("the app runs, with what the page has left it", async () => {
    expect((await stage.get("shop.apps.localhost")).status).toBe(200);
    const services = await run("cup services");
    expect(await run("cf service-access -b caches")).toMatch(/cache +small +all/);
    for (const name of ["shop-pg", "legacy-db", "drain"]) expect(services).toMatch(new RegExp(`^${name} .*shop`, "m"));
  });
});
