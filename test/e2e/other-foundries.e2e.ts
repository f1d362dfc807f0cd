// Manifests that were written for other Cloud Foundries, pushed as they are by stock cf. By name: `npm run e2e -- other-foundries`, and with `--on node`.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../eventually.ts";
import { cfOn, whyNoCf } from "./support/cf.ts";
import { chosenPlatformKind, startTestPlatform } from "./support/start-test-platform.ts";
import type { CommandResult, TestPlatform } from "./support/test-platform.ts";

const SERVER = `require("http").createServer((_, response) => response.end("hello from another foundry")).listen(process.env.PORT);
process.on("SIGTERM", () => process.exit(0));
`;
const SUBSTITUTED = "The stack 'cflinuxfs4' is not available here. The app is built and runs on 'host'.";
const isNamed = (process.env["CUPOLA_E2E_NAMES"] ?? "").split(",").includes("other-foundries");
const reason = whyNoCf() ?? (isNamed ? undefined : "npm run e2e -- other-foundries does it");
if (reason) console.log(`manifests of other foundries skipped: ${reason}`);

describe.skipIf(reason)("a manifest of another Cloud Foundry", () => {
  let stage: TestPlatform;
  // A second try may be on the same platform.
  const own = Date.now().toString(36);
  let cf: (...args: string[]) => Promise<CommandResult>;

  beforeAll(async () => {
    stage = await startTestPlatform();
    cf = cfOn(stage);
    const org = `foundries-${own}`;
    for (const args of [
      ["api", stage.url],
      ["auth", "admin"],
      ["create-org", org],
      ["create-space", "dev", "-o", org],
      ["target", "-o", org, "-s", "dev"],
    ]) {
      const { code, output } = await cf(...args);
      expect(code, `cf ${args.join(" ")}\n${output}`).toBe(0);
    }
  });
  afterAll(() => stage?.stop());

  /** Pushes a Node.js app with these lines in its manifest. */
  async function push(name: string, lines: readonly string[]): Promise<CommandResult> {
    const folder = join(stage.home, "foundries", name);
    mkdirSync(folder, { recursive: true });
    const manifest = ["applications:", `- name: ${name}`, ...lines.map((line) => `  ${line}`)].join("\n");
    const scripts = '{ "name": "app", "version": "1.0.0", "scripts": { "start": "node server.js" } }\n';
    for (const [file, text] of Object.entries({
      "server.js": SERVER,
      "package.json": scripts,
      "manifest.yml": manifest,
    }))
      writeFileSync(join(folder, file), text);
    return cfOn(stage, { cwd: folder })("push");
  }

  async function expectAnswer(name: string): Promise<void> {
    await eventually(async () =>
      expect((await stage.get(`${name}.apps.localhost`)).body).toBe("hello from another foundry"),
    );
  }

  test.each([
    ["its stack", "fs4", ["memory: 128M", "stack: cflinuxfs4"], SUBSTITUTED],
    ["a buildpack by name", "by-name", ["memory: 128M", "buildpacks: [nodejs_buildpack]"], undefined],
    [
      "a buildpack by its address",
      "by-address",
      ["memory: 0.125G", "buildpacks: ['https://github.com/cloudfoundry/nodejs-buildpack.git#v1.8.3']"],
      "nodejs-buildpack",
    ],
    [
      "what old manifests have",
      "old",
      ["memory: 128M", "buildpack: nodejs_buildpack", "stack: cflinuxfs4", "health-check-type: port", "timeout: 60"],
      SUBSTITUTED,
    ],
  ])("with %s runs", async (_what, what, lines, warning) => {
    const name = `${what}-${own}`;
    const { code, output } = await push(name, lines);
    expect(code, output).toBe(0);
    if (warning !== undefined) expect(output).toContain(warning);
    await expectAnswer(name);
  });

  test("with a buildpack that nothing here stands for is refused by its name", async () => {
    const { code, output } = await push(`nginx-${own}`, ["buildpacks: [nginx_buildpack]"]);
    expect(code).toBe(1);
    expect(output).toContain('"nginx_buildpack"');
    // Only a cluster's operator knows the alternatives in its builder image.
    if (chosenPlatformKind() === "laptop") expect(output).toContain("-b staticfile_buildpack, which serves files");
  });
});
