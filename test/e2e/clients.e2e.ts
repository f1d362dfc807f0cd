// Clients of Cloud Foundry that nobody here wrote, with a token login: go-cfclient, cf-python-client and cf-java-client push an app and delete it. By name: `npm run e2e -- clients`.
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, type TestContext } from "vitest";
import { runCommand } from "../../scripts/run-command.ts";
import { apiAt, tokenOf } from "./support/api.ts";
import { startTestPlatform } from "./support/start-test-platform.ts";
import type { CommandResult, TestPlatform } from "./support/test-platform.ts";

const SOURCES = join(import.meta.dirname, "clients");
const HELLO = join(import.meta.dirname, "..", "..", "examples", "hello");
const GO_CFCLIENT = "github.com/cloudfoundry/go-cfclient/v3";
const GO_VERSION = "v3.0.0-alpha.20";
const PYTHON_CLIENT = "cloudfoundry-client==1.40.4";
const ORG = "clients";
const SPACE = "dev";
const BUILD_MS = 600_000;

describe("a client of Cloud Foundry", () => {
  let stage: TestPlatform;
  let folder: string;
  let env: Record<string, string>;

  beforeAll(async () => {
    stage = await startTestPlatform();
    folder = join(stage.home, "clients");
    mkdirSync(folder);
    const admin = apiAt(stage.url, tokenOf(stage, "admin"));
    const { guid } = await admin.call("POST", "/v3/organizations", { name: ORG });
    await admin.call("POST", "/v3/spaces", { name: SPACE, relationships: { organization: { data: { guid } } } });
    const bits = join(folder, "bits.zip");
    expect(
      (await run(["python3", "-m", "zipfile", "-c", bits, join(HELLO, "server.js"), join(HELLO, "package.json")])).code,
    ).toBe(0);
    env = {
      CF_API: `http://127.0.0.1:${stage.port}`,
      CF_USER: "admin",
      CF_TOKEN: tokenOf(stage, "admin"),
      CF_ORG: ORG,
      CF_SPACE: SPACE,
      CF_BITS: bits,
    };
  });
  afterAll(() => stage?.stop());

  const run = (argv: [string, ...string[]], more: Record<string, string> = {}): Promise<CommandResult> =>
    runCommand(argv, { cwd: folder, deadlineMs: BUILD_MS, env: more });

  /** Skips where the client cannot be had, as on a machine without its registry. */
  async function obtain(context: TestContext, ...commands: [string, ...string[]][]): Promise<void> {
    for (const argv of commands) {
      const { code, output } = await run(argv, { GOFLAGS: "-mod=mod" });
      if (code !== 0) context.skip(`${argv.join(" ")} ended with ${code}: ${output.slice(-500)}`);
    }
  }

  async function expectPushed(...argv: [string, ...string[]]): Promise<void> {
    const { code, output } = await run(argv, env);
    expect(code, output).toBe(0);
    // By a user's login, and by client credentials.
    expect(output.match(/^deleted$/gm), output).toHaveLength(2);
  }

  test("go-cfclient", { timeout: BUILD_MS }, async (context) => {
    writeGoModule(folder, process.env["GO_CFCLIENT"]);
    await obtain(context, ["go", "mod", "tidy"], ["go", "build", "-o", "push", "."]);
    await expectPushed("./push");
  });

  test("cf-python-client", { timeout: BUILD_MS }, async (context) => {
    const python = join(folder, "venv", "bin", "python");
    await obtain(context, ["python3", "-m", "venv", "venv"], [python, "-m", "pip", "install", "-q", PYTHON_CLIENT]);
    await expectPushed(python, join(SOURCES, "push.py"));
  });

  test("cf-java-client", { timeout: BUILD_MS }, async (context) => {
    const source = join(folder, "src", "main", "java");
    mkdirSync(source, { recursive: true });
    copyFileSync(join(SOURCES, "pom.xml"), join(folder, "pom.xml"));
    copyFileSync(join(SOURCES, "Push.java"), join(source, "Push.java"));
    const maven: [string, ...string[]] = ["mvn", "-q", "-B"];
    await obtain(context, [...maven, "compile", "dependency:copy-dependencies"]);
    const { code, output } = await run(["java", "-cp", "target/classes:target/dependency/*", "Push"], env);
    expect(code, output).toBe(0);
    // By a user's login, whose token it verifies, and by client credentials.
    expect(output).toContain("user admin");
    expect(output.match(/^deleted$/gm), output).toHaveLength(2);
  });
});

/** @param checkout a folder with its tag checked out, where the module proxy does not serve it */
function writeGoModule(folder: string, checkout: string | undefined): void {
  const replace = checkout ? `replace ${GO_CFCLIENT} => ${checkout}\n` : "";
  writeFileSync(
    join(folder, "go.mod"),
    `module clients\n\ngo 1.23\n\nrequire ${GO_CFCLIENT} ${GO_VERSION}\n${replace}`,
  );
  copyFileSync(join(SOURCES, "push.go"), join(folder, "push.go"));
}
