// An app on a laptop, broken in each way of docs/troubleshooting.md that exists there: cf, cup and kubectl say what the page says, soon.
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { appNameOf, expectSaid, SOON_MS, succeed } from "./broken-apps/doors.ts";
import { readFailures } from "./broken-apps/table.ts";
import { PROGRAM, WAYS, type Way } from "./broken-apps/ways.ts";
import { cfOn, whyNoCf } from "./support/cf.ts";
import { chosenPlatformKind, startTestPlatform } from "./support/start-test-platform.ts";
import type { TestPlatform } from "./support/test-platform.ts";

const NAMESPACE = "local-dev";
const failures = readFailures().filter(({ where }) => where.includes("laptop"));
const reason = chosenPlatformKind() === "laptop" ? whyNoCf() : "an app breaks in these ways on a laptop or a node";
if (reason) console.log(`broken apps skipped: ${reason}`);

describe.skipIf(reason)("a broken app", () => {
  let stage: TestPlatform;
  let cf: ReturnType<typeof cfOn>;
  const starts: Promise<unknown>[] = [];

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
    if (process) await patch("process.cupola.dev", `${name}.web`, process);
    if (app) {
      // It has run before, since a build needs the variables, too.
      await succeed(cf("start", name));
      await patch("app", name, app);
    }
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
      await push(appNameOf(failure), way);
    }
  }, 240_000);
  afterAll(async () => {
    await stage?.stop();
    await Promise.all(starts);
  }, 60_000);

  test.each(failures)("$name", { timeout: SOON_MS + 20_000 }, (failure) =>
    expectSaid(failure, {
      cf,
      cup: (...args) => stage.cup(...args),
      kubectl: (...args) => stage.kubectl(...args),
      namespace: NAMESPACE,
    }),
  );

  test("the table has a row for each way", () => {
    const rows = readFailures().map(({ name }) => name);
    expect([...new Set(rows)].toSorted()).toEqual(Object.keys(WAYS).toSorted());
  });
});
