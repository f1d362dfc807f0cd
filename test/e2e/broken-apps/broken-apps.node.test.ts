// An app on a node, broken in each way of docs/troubleshooting.md: cf, cup and kubectl say what the page says, soon.
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { runCommand } from "../../../scripts/run-command.ts";
import { eventually } from "../../eventually.ts";
import { startNode, type TestNode } from "../../cluster/node/node.ts";
import { whyNoNode } from "../../cluster/node/requirements.ts";
import { BASE_IMAGE } from "../../cluster/node/settings.ts";
import { whyNoCf } from "../support/cf.ts";
import { PLATFORM_USER, startClusterPlatform, type ClusterPlatform } from "../support/cluster-platform.ts";
import type { CommandResult } from "../support/test-platform.ts";
import { appNameOf, expectSaid, SOON_MS, succeed, type Doors } from "./doors.ts";
import { readFailures, type Failure } from "./table.ts";
import { WAYS } from "./ways.ts";

const CUP = join(import.meta.dirname, "..", "..", "..", "cli", "cup.ts");
const failures = readFailures().filter(({ where }) => where.includes("cluster"));
const reason = whyNoNode() ?? whyNoCf();
if (reason) console.log(`broken apps on a node: skipped, ${reason}`);

describe.skipIf(reason)("a broken app on a node", () => {
  let node: TestNode;
  let platform: ClusterPlatform;
  const starts: Promise<unknown>[] = [];

  const run =
    (program: string[], home: string) =>
    (...args: string[]): Promise<CommandResult> =>
      runCommand([...program, ...args] as [string, ...string[]], {
        cwd: platform.home,
        deadlineMs: 120_000,
        env: {
          CF_HOME: join(platform.home, home),
          CUP_HOME: join(platform.home, home, "cup"),
          CUPOLA_HOME: join(platform.home, "none"),
          KUBECONFIG: platform.kubeconfig,
          CF_COLOR: "false",
          NO_COLOR: "1",
        },
      });

  /** Each space has its own targets. The quota is in one of its own, since it stops every app. */
  const spaceOf = ({ name }: Failure): string => (name.startsWith("quota") ? "full" : "dev");

  function doorsOf(failure: Failure): Doors {
    const space = spaceOf(failure);
    return {
      cf: run([process.env["CF_BIN"] ?? "cf"], space),
      cup: run([process.execPath, CUP], space),
      kubectl: run([node.kubectl], space),
      namespace: `acme-${space}`,
    };
  }

  async function makeSpace(space: string): Promise<void> {
    mkdirSync(join(platform.home, space), { recursive: true });
    const [cf, cup] = [run([process.env["CF_BIN"] ?? "cf"], space), run([process.execPath, CUP], space)];
    await succeed(cf("api", platform.url));
    await succeed(cf("auth", "admin"));
    await succeed(cf("create-space", space, "-o", "acme"));
    await succeed(cf("target", "-o", "acme", "-s", space));
    await succeed(cup("login", "--api", platform.url, "--kubeconfig", platform.kubeconfig, "--user", "admin"));
    await succeed(cup("target", "--org", "acme", "--space", space));
  }

  async function push(failure: Failure): Promise<void> {
    const way = WAYS[failure.name];
    if (!way) throw new Error(`docs/troubleshooting.md has "${failure.name}", test/e2e/broken-apps/ways.ts has not`);
    const { shell, manifest = {}, app, process: settings = {} } = way;
    const name = appNameOf(failure);
    const { cf, kubectl, namespace } = doorsOf(failure);
    const image = failure.name === "bad image" ? `${node.registry.host}/no/such:1` : BASE_IMAGE;
    const file = join(platform.home, `${name}.yml`);
    const application = { name, docker: { image }, command: shell, memory: "64M", "no-route": true, ...manifest };
    writeFileSync(file, stringify({ applications: [application] }));
    await succeed(cf("push", "-f", file, "--no-start"));
    const patch = (kind: string, object: string, spec: object) =>
      succeed(kubectl("patch", kind, object, "-n", namespace, "--type=merge", "-p", JSON.stringify({ spec })));
    // The image's user is root, which no pod may be.
    await patch("process.cupola.dev", `${name}.web`, { user: "1000", ...settings });
    if (app) {
      await succeed(cf("start", name));
      await patch("app", name, app);
    }
    // A CF_HOME of its own, since cf writes into it. The start fails by design, and says so later.
    cpSync(join(platform.home, spaceOf(failure), ".cf"), join(platform.home, `cf-${name}`, ".cf"), { recursive: true });
    starts.push(run([process.env["CF_BIN"] ?? "cf"], `cf-${name}`)(app ? "restart" : "start", name));
  }

  beforeAll(async () => {
    platform = await startClusterPlatform("api,controllers,deployment-runner,instance-index,logs", async () => {
      node = await startNode({ users: [PLATFORM_USER] });
      return node;
    });
    mkdirSync(join(platform.home, "dev"), { recursive: true });
    const cf = run([process.env["CF_BIN"] ?? "cf"], "dev");
    await succeed(cf("api", platform.url));
    await succeed(cf("auth", "admin"));
    await succeed(cf("create-org", "acme"));
    await makeSpace("dev");
    await makeSpace("full");
    await succeed(run([node.kubectl], "full")("create", "quota", "nothing", "--hard=pods=0", "-n", "acme-full"));
    for (const failure of failures) await push(failure);
  }, 1_800_000);
  afterAll(async () => {
    await platform?.stop();
    await Promise.all(starts);
  }, 150_000);

  test.each(failures)("$name", { timeout: SOON_MS + 20_000 }, (failure) => expectSaid(failure, doorsOf(failure)));

  test("its log says what the API did, how instances ended, and why one was not started", async () => {
    const [first] = failures;
    const cf = doorsOf(first!).cf;
    await eventually(async () => {
      const log = await succeed(cf("logs", "crash-at-start", "--recent"));
      expect(log).toMatch(/\[API\/0\] +OUT Created app with guid/);
      expect(log).toMatch(/\[APP\/PROC\/WEB\/0\] +OUT Exit status 7/);
      expect(log).toMatch(/\[API\/0\] +OUT Process has crashed with type: "web"/);
      expect(await succeed(cf("logs", "out-of-memory", "--recent"))).toContain("Exit status 137 (out of memory)");
      expect(await succeed(cf("logs", "bad-image", "--recent"))).toMatch(/\[CELL\/0\] +ERR Image .* cannot be pulled/);
    });
  });
});
