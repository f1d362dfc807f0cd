// The stock cf does all that the README promises of it, in the order in which a developer would.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { APP_CASES } from "./cf/apps.cases.ts";
import { LOG_CASES } from "./cf/logs.cases.ts";
import { layGround, type Ground } from "./cf/support/ground.ts";
import { describeCases } from "./cf/support/run-cases.ts";
import { cfOn, whyNoCf } from "./support/cf.ts";
import { eventually } from "../eventually.ts";
import { startTestPlatform } from "./support/start-test-platform.ts";
import type { TestPlatform, CommandResult } from "./support/test-platform.ts";

const HELLO = join(import.meta.dirname, "..", "..", "examples", "hello");
const reason = whyNoCf();
if (reason) console.log(`cf journey skipped: ${reason}`);

describe.skipIf(reason)("stock cf", () => {
  let stage: TestPlatform;
  let run: (...args: string[]) => Promise<CommandResult>;

  async function cf(...args: string[]): Promise<string> {
    const { code, output } = await run(...args);
    expect(code, `cf ${args.join(" ")}\n${output}`).toBe(0);
    return output;
  }

  beforeAll(async () => {
    stage = await startTestPlatform();
    run = cfOn(stage);
  });
  afterAll(() => stage?.stop());

  test("api, auth, login and target", async () => {
    expect(await cf("api", stage.url)).toContain("3.228.0");
    await cf("auth", "admin");
    expect(await cf("orgs")).toContain("local");
    await cf("create-org", "corp");
    expect(await cf("org", "corp")).toContain("apps.localhost");
    await cf("create-space", "test", "-o", "corp");
    expect(await cf("target", "-o", "corp", "-s", "test")).toMatch(/space:\s+test/);
    expect(await cf("spaces")).toContain("test");
    expect(await cf("space", "test")).toContain("corp");
  });

  test("domains, buildpacks and stacks", async () => {
    expect(await cf("domains")).toContain("apps.localhost");
    // The buildpacks of an installed platform are the builder image's own.
    expect(await cf("buildpacks")).toContain(stage.on === "node" ? "cupola/nodejs" : "nodejs_buildpack");
    expect(await cf("stacks")).toContain("host");
  });

  test("push of source with flags, and its page", async () => {
    const output = await cf(
      "push",
      "hello",
      "-p",
      HELLO,
      "-m",
      "128M",
      "-k",
      "256M",
      "-i",
      "2",
      "-u",
      "http",
      "--endpoint",
      "/",
      "-b",
      "nodejs_buildpack",
    );
    expect(output).toMatch(/instances:\s+\d\/2/);
    await eventually(async () => expect((await stage.get("hello.apps.localhost")).status).toBe(200));
    await eventually(async () => expect(await cf("apps")).toMatch(/hello\s+started\s+web:2\/2/));
    expect(await cf("app", "hello")).toMatch(/#0\s+running[\s\S]*#1\s+running/);
  });

  test("logs and logs --recent", async () => {
    await stage.get("hello.apps.localhost", "/for-the-log");
    await eventually(async () => {
      const output = await cf("logs", "hello", "--recent");
      expect(output).toContain("[STG/0]");
      expect(output).toContain("[APP/PROC/WEB/0]");
      // An ingress controller writes no lines into apps' logs.
      if (stage.on === "node") return;
      expect(output).toContain("[RTR/0]");
      expect(output).toContain("/for-the-log");
    });
  });

  test("env, set-env, unset-env", async () => {
    await cf("set-env", "hello", "GREETING", "hi there");
    expect(await cf("env", "hello")).toContain("hi there");
    await cf("unset-env", "hello", "GREETING");
    expect(await cf("env", "hello")).not.toContain("hi there");
  });

  test("scale, stop, start, restart, restage", async () => {
    await cf("scale", "hello", "-i", "1");
    await eventually(async () => expect(await cf("app", "hello")).toMatch(/instances:\s+1\/1/));
    expect(await cf("scale", "hello", "-m", "192M", "-f")).toMatch(/memory usage:\s+192M/);
    await cf("stop", "hello");
    await eventually(async () => expect((await stage.get("hello.apps.localhost")).status).toBe(404));
    await cf("start", "hello");
    await eventually(async () => expect((await stage.get("hello.apps.localhost")).status).toBe(200));
    await cf("restart", "hello");
    await cf("restage", "hello");
    await eventually(async () => expect((await stage.get("hello.apps.localhost")).status).toBe(200));
  });

  test("routes: create, map, check, unmap, delete", async () => {
    await cf("create-route", "apps.localhost", "--hostname", "second", "--path", "/deep");
    await cf("map-route", "hello", "apps.localhost", "--hostname", "second", "--path", "/deep");
    expect(await cf("routes")).toMatch(/second\s+apps\.localhost\s+\/deep/);
    expect(await cf("check-route", "apps.localhost", "--hostname", "second", "--path", "/deep")).toContain(
      "does exist",
    );
    await eventually(async () => expect((await stage.get("second.apps.localhost", "/deep/er")).status).toBe(200));
    expect((await stage.get("second.apps.localhost", "/")).status).toBe(404);
    await cf("unmap-route", "hello", "apps.localhost", "--hostname", "second", "--path", "/deep");
    await cf("delete-route", "apps.localhost", "--hostname", "second", "--path", "/deep", "-f");
    expect(await cf("check-route", "apps.localhost", "--hostname", "second", "--path", "/deep")).toContain(
      "does not exist",
    );
  });

  test("a manifest with variables, several apps and several processes", async () => {
    const folder = join(stage.home, "many");
    mkdirSync(folder);
    writeFileSync(
      join(folder, "index.js"),
      'require("http").createServer((q, s) => s.end("web " + process.env.COLOUR)).listen(process.env.PORT);\n',
    );
    writeFileSync(join(folder, "package.json"), '{"name":"many","version":"1.0.0"}\n');
    writeFileSync(join(folder, "Procfile"), "web: node index.js\nworker: sleep 1000\n");
    writeFileSync(
      join(folder, "manifest.yml"),
      `applications:
- name: one
  memory: ((memory))
  env: { COLOUR: ((colour)) }
  routes: [{ route: one-((colour)).apps.localhost }]
  processes:
  - { type: web, instances: 1, health-check-type: port }
  - { type: worker, instances: 1, memory: 64M, health-check-type: process }
- name: two
  memory: 64M
  no-route: true
  health-check-type: process
  command: sleep 1000
`,
    );
    const { code, output } = await cfOn(stage, { cwd: folder })("push", "--var", "memory=64M", "--var", "colour=blue");
    expect(code, output).toBe(0);
    await eventually(async () => expect((await stage.get("one-blue.apps.localhost")).body).toBe("web blue"));
    expect(await cf("app", "one")).toMatch(/type:\s+worker/);
    expect(await cf("app", "two")).toMatch(/routes:\s*\n/);
  });

  test("push --no-start", async () => {
    await cf("push", "quiet", "-p", HELLO, "--no-start");
    expect(await cf("apps")).toMatch(/quiet\s+stopped/);
  });

  test("curl", async () => {
    expect(JSON.parse(await cf("curl", "/v3/apps?names=hello"))).toMatchObject({ pagination: { total_results: 1 } });
  });

  test("delete -r, delete-space, delete-org", async () => {
    await cf("delete", "hello", "-f", "-r");
    expect(await cf("routes")).not.toContain("hello");
    await eventually(async () => expect((await stage.get("hello.apps.localhost")).status).toBe(404));
    await cf("delete-space", "test", "-o", "corp", "-f");
    await cf("delete-org", "corp", "-f");
    expect(await cf("orgs")).not.toContain("corp");
  });

  describe("a sample of the cases in cf/, so that they do not rot", () => {
    let ground: Ground;
    beforeAll(async () => {
      ground = await layGround(stage);
    });
    describeCases(
      [...APP_CASES, ...LOG_CASES].filter(({ command }) => ["create-app", "curl"].includes(command)),
      () => ground,
    );
  });
});
