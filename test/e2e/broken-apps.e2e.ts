// An app broken in each way of docs/troubleshooting.md: cf, cup and kubectl say what the page says, soon.
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { eventually } from "../eventually.ts";
import { readFailures, type Failure } from "./broken-apps/table.ts";
import { PROGRAM, WAYS, type Way } from "./broken-apps/ways.ts";
import { cfOn, whyNoCf } from "./support/cf.ts";
import { startTestPlatform } from "./support/start-test-platform.ts";
import type { TestPlatform } from "./support/test-platform.ts";

/** From the start of an app to the words of every command, on a machine that does much else. */
const SOON_MS = 60_000;
const NAMESPACE = "local-dev";
const failures = readFailures().filter(({ where }) => where.includes("laptop"));
const nameOf = ({ name }: Failure): string => name.replaceAll(/[^a-z]+/g, "-");

const reason = whyNoCf();
if (reason) console.log(`broken apps skipped: ${reason}`);

describe.skipIf(reason)("a broken app", () => {
  let stage: TestPlatform;
  let cf: ReturnType<typeof cfOn>;
  const starts: Promise<unknown>[] = [];

  async function succeed(command: Promise<{ code: number | null; output: string }>): Promise<string> {
    const { code, output } = await command;
    expect(code, output).toBe(0);
    return output;
  }

  async function push(name: string, { way, manifest = {}, app, process }: Way): Promise<void> {
    const folder = join(stage.home, name);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "server.js"), PROGRAM);
    writeFileSync(
      join(folder, "manifest.yml"),
      stringify({ applications: [{ name, memory: "256M", command: `node server.js '${way}'`, ...manifest }] }),
    );
    await succeed(cfOn(stage, { cwd: folder })("push", "--no-start"));
    const patch = (kind: string, object: string, spec: object) =>
      succeed(stage.kubectl("patch", kind, object, "-n", NAMESPACE, "--type=merge", "-p", JSON.stringify({ spec })));
    if (app) {
      // It has run before, since a build needs the variables, too.
      await succeed(cf("start", name));
      await patch("app", name, app);
    }
    if (process) await patch("process.cupola.dev", `${name}.web`, process);
    // A CF_HOME of its own, since cf writes into it. The start fails by design, and says so later.
    cpSync(join(stage.home, ".cf"), join(stage.home, `cf-${name}`, ".cf"), { recursive: true });
    starts.push(cfOn(stage, { user: name })(app ? "restart" : "start", name));
  }

  beforeAll(async () => {
    stage = await startTestPlatform();
    cf = cfOn(stage);
    await succeed(cf("api", stage.url));
    await succeed(cf("auth", "developer"));
    await succeed(cf("target", "-o", "local", "-s", "dev"));
    for (const failure of failures) {
      const way = WAYS[failure.name];
      if (!way) throw new Error(`docs/troubleshooting.md has "${failure.name}", test/e2e/broken-apps/ways.ts has not`);
      await push(nameOf(failure), way);
    }
  }, 240_000);
  afterAll(async () => {
    await stage?.stop();
    await Promise.all(starts);
  }, 60_000);

  test.each(failures)("$name", { timeout: SOON_MS + 20_000 }, async (failure) => {
    const name = nameOf(failure);
    await eventually(async () => {
      const page = await succeed(cf("app", name));
      expect(page).toMatch(new RegExp(`#0\\s+${failure.state}.*${failure.details.source}`));
    }, SOON_MS);
    await eventually(async () => {
      const page = await succeed(stage.cup("app", name));
      expect(page).toMatch(new RegExp(`#0\\s+${failure.state}.*${failure.details.source}`));
    });
    await eventually(async () => {
      const row = await succeed(stage.kubectl("get", "app", name, "-n", NAMESPACE, "-o", "wide"));
      expect(row).toMatch(new RegExp(`${failure.reason ?? "Starting"}.*${failure.details.source}`));
      const page = await succeed(stage.kubectl("describe", "app", name, "-n", NAMESPACE));
      expect(page).toMatch(new RegExp(`Message:.*${failure.details.source}`));
      if (failure.reason) expect(page).toMatch(new RegExp(`Warning\\s+${failure.reason}\\s`));
    });
  });
});
