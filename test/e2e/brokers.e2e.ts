// A service broker that nobody here wrote: one of openbrokerapi, from PyPI, with operations that end at once and others that go on by themselves. By name: `npm run e2e -- brokers`.
import { spawn, type ChildProcess } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommand } from "../../scripts/run-command.ts";
import { freePort } from "../cluster/free-port.ts";
import { eventually } from "../eventually.ts";
import { cfOn, whyNoCf } from "./support/cf.ts";
import { startTestPlatform } from "./support/start-test-platform.ts";
import type { TestPlatform } from "./support/test-platform.ts";

const LIBRARY = "openbrokerapi==4.7.3";
const INSTALL_MS = 300_000;
const SITE = join(import.meta.dirname, "..", "..", "examples", "hello");
const reason = whyNoCf();

interface State {
  instances: number;
  bindings: number;
  log: string[];
}

describe.skipIf(reason)(`a broker of ${LIBRARY}${reason ? `: ${reason}` : ""}`, () => {
  let stage: TestPlatform;
  let broker: ChildProcess | undefined;
  let url: string;
  let whyNot: string | undefined;

  beforeAll(async () => {
    stage = await startTestPlatform();
    const folder = join(stage.home, "broker");
    mkdirSync(folder);
    const python = join(folder, "venv", "bin", "python");
    for (const argv of [
      ["python3", "-m", "venv", "venv"],
      [python, "-m", "pip", "install", "-q", LIBRARY],
    ] as [string, ...string[]][]) {
      const { code, output } = await runCommand(argv, { cwd: folder, deadlineMs: INSTALL_MS });
      if (code !== 0) return void (whyNot = `${argv.join(" ")} ended with ${code}: ${output.slice(-500)}`);
    }
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    broker = spawn(python, [join(import.meta.dirname, "brokers", "broker.py"), String(port)], { stdio: "ignore" });
    await eventually(async () => expect((await state()).instances).toBe(0), 60_000);
    await cf("api", stage.url);
    await cf("auth", "admin");
    await cf("target", "-o", "local", "-s", "dev");
    await cf("create-service-broker", "py", "broker", "secret", url);
    await cf("enable-service-access", "pydb");
    await cf("push", "shop", "-p", SITE, "-m", "128M", "--no-start");
  }, INSTALL_MS + 120_000);
  afterAll(async () => {
    broker?.kill("SIGKILL");
    await stage?.stop();
  });

  async function state(): Promise<State> {
    return (await (await fetch(`${url}/state`, { signal: AbortSignal.timeout(10_000) })).json()) as State;
  }

  const run = (...args: string[]): ReturnType<ReturnType<typeof cfOn>> => cfOn(stage)(...args);

  async function cf(...args: string[]): Promise<string> {
    const { code, output } = await run(...args);
    expect(code, `cf ${args.join(" ")}\n${output}`).toBe(0);
    return output;
  }

  test.for(["fast", "slow"])(
    "plan %s: made, bound, updated, unbound and deleted",
    { timeout: 180_000 },
    async (plan, context) => {
      if (whyNot) context.skip(whyNot);
      const other = plan === "fast" ? "slow" : "fast";
      const begun = (await state()).log.length;
      await cf("create-service", "pydb", plan, "db", "--wait");
      await cf("bind-service", "shop", "db", "--wait");
      await cf("create-service-key", "db", "key", "--wait");
      expect(await state()).toMatchObject({ instances: 1, bindings: 2 });
      expect(await cf("env", "shop")).toContain("mem://");
      expect(await cf("service-key", "db", "key")).toContain("mem://");
      await cf("update-service", "db", "-p", other, "--wait");
      expect(await cf("service", "db")).toMatch(new RegExp(`plan: +${other}`));
      await cf("delete-service-key", "db", "key", "-f", "--wait");
      await cf("unbind-service", "shop", "db", "--wait");
      await cf("delete-service", "db", "-f", "--wait");
      const { log, ...left } = await state();
      expect(left).toEqual({ instances: 0, bindings: 0 });
      // Each once.
      const expected = ["provision", "bind", "bind", "update", "unbind", "unbind", "deprovision"];
      expect(log.slice(begun)).toEqual(expected);
    },
  );

  test("a refusal has the broker's words, and leaves nothing", async (context) => {
    if (whyNot) context.skip(whyNot);
    const { code, output } = await run("create-service", "pydb", "fast", "refused", "-c", '{"fail": true}', "--wait");
    expect(code, output).toBe(1);
    expect(output).toContain("fail was asked for");
    await cf("delete-service", "refused", "-f", "--wait");
    expect(await state()).toMatchObject({ instances: 0, bindings: 0 });
  });
});
