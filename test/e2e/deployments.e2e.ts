// Rolling and canary deployments under load through the router: no request fails, a cancellation returns to the old droplet, and a version that crashes takes
// nothing away. `CUPOLA_DEPLOYMENTS=20 npm run e2e -- deployments` runs 20 rolling and 10 canary ones; `--only rolling` a part of it.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../eventually.ts";
import { startLoad, type Load } from "./deployments/load.ts";
import { apiAt, tokenOf, type Api, type Named, type Page } from "./support/api.ts";
import { chosenPlatformKind, startTestPlatform } from "./support/start-test-platform.ts";
import type { TestPlatform } from "./support/test-platform.ts";

const ROLLING = Number(process.env["CUPOLA_DEPLOYMENTS"] ?? "2");
const CANARIES = Math.ceil(ROLLING / 2);
const INSTANCES = 3;
/** On a node it is the share of the processor, too: enough for health checks in time on a busy machine. */
const MEMORY = chosenPlatformKind() === "node" ? "512M" : "128M";
const CLIENTS = 4;
const HOST = "shop.apps.localhost";
const DEPLOY_MS = 90_000;

/** Ends when its requests have, as CF asks of apps. */
const SOURCE = `const server = require("node:http").createServer((request, response) => response.end("VERSION"));
server.listen(process.env.PORT);
process.on("SIGTERM", () => server.close(() => process.exit(0)));
`;

interface Deployment extends Named {
  status: { value: string; reason: string };
  new_processes: { guid: string }[];
}

describe("deployments under load", () => {
  let stage: TestPlatform;
  let api: Api;
  let app: Named;
  let load: Load;
  const droplets: Record<string, string> = {};

  /** Builds a version; the first one is started. */
  async function push(version: string, ...more: string[]): Promise<void> {
    const folder = join(stage.home, `source-${version}`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "server.js"), SOURCE.replace("VERSION", version));
    writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "shop", scripts: { start: "node server.js" } }));
    const { code, output } = await stage.cup("push", "shop", "--path", folder, "-m", MEMORY, ...more);
    expect(code, output).toBe(0);
    app = (await api.call<Page<Named>>("GET", "/v3/apps?names=shop")).resources[0]!;
    const { data } = await api.call<{ data: { guid: string } }>("GET", currentDroplet());
    droplets[version] = data.guid;
  }

  const currentDroplet = (): string => `/v3/apps/${app.guid}/relationships/current_droplet`;
  const deploy = (more: object): Promise<Deployment> =>
    api.call("POST", "/v3/deployments", { relationships: { app: { data: { guid: app.guid } } }, ...more });
  const deployVersion = (version: string, more: object = {}): Promise<Deployment> =>
    deploy({ droplet: { guid: droplets[version] }, ...more });
  const act = (deployment: Deployment, what: string): Promise<unknown> =>
    api.call("POST", `/v3/deployments/${deployment.guid}/actions/${what}`);

  /** The requests for one deployment are held until it is over or paused, so this does not poll in haste. */
  async function untilStatus({ guid }: Deployment, expected: string): Promise<void> {
    await eventually(async () => {
      const { status } = await api.call<Deployment>("GET", `/v3/deployments/${guid}`);
      expect(`${status.value} ${status.reason}`).toBe(expected);
    }, DEPLOY_MS);
  }

  /** Prints what a run by name is asked for: its length, and the requests so far. */
  function report(what: string, started: number): void {
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.log(`${what}: ${seconds} s; requests: ${load.answered()} answered, ${load.failed.length} failed`);
  }

  /** Waits until requests have been answered, and by these versions alone. */
  async function expectVersions(...expected: string[]): Promise<void> {
    await eventually(async () => {
      load.takeVersions();
      const before = load.answered();
      await eventually(() => expect(load.answered()).toBeGreaterThan(before + 10 * CLIENTS));
      expect(Object.keys(load.takeVersions()).sort()).toEqual(expected);
    }, 20_000);
  }

  beforeAll(async () => {
    stage = await startTestPlatform();
    api = apiAt(stage.url, tokenOf(stage, "admin"));
    await stage.cupJson("login", "--api", stage.url);
    await push("one", "-i", String(INSTANCES));
    await push("two", "--no-start");
    load = startLoad(stage.port, HOST, CLIENTS);
  }, 900_000);
  afterAll(async () => {
    await load?.stop();
    await stage?.stop();
  });

  test(`${ROLLING} rolling`, { timeout: ROLLING * DEPLOY_MS }, async () => {
    for (let at = 0; at < ROLLING; at++) {
      const version = at % 2 === 0 ? "two" : "one";
      const started = performance.now();
      await untilStatus(
        await deployVersion(version, { options: { max_in_flight: 1 + (at % 3) } }),
        "FINALIZED DEPLOYED",
      );
      await expectVersions(version);
      report(`rolling ${at + 1}`, started);
    }
    expect(load.failed).toEqual([]);
  });

  test(`${CANARIES} canary, each continued to its end`, { timeout: CANARIES * 2 * DEPLOY_MS }, async () => {
    for (let at = 0; at < CANARIES; at++) {
      const [before, version] = at % 2 === 0 ? ["one", "two"] : ["two", "one"];
      const started = performance.now();
      await untilStatus(await deployVersion(before), "FINALIZED DEPLOYED");
      const steps = [{ instance_weight: 34 }, { instance_weight: 100 }];
      const made = await deployVersion(version, { strategy: "canary", options: { canary: { steps } } });
      await untilStatus(made, "ACTIVE PAUSED");
      await expectVersions("one", "two");
      await act(made, "continue");
      await untilStatus(made, "ACTIVE PAUSED");
      await expectVersions(version);
      await act(made, "continue");
      await untilStatus(made, "FINALIZED DEPLOYED");
      report(`canary ${at + 1}`, started);
    }
    expect(load.failed).toEqual([]);
  });

  test("canceled half-way: the old droplet and version are back", { timeout: 2 * DEPLOY_MS }, async () => {
    await untilStatus(await deployVersion("one"), "FINALIZED DEPLOYED");
    const made = await deployVersion("two", { strategy: "canary" });
    await untilStatus(made, "ACTIVE PAUSED");
    await expectVersions("one", "two");
    await act(made, "cancel");
    await untilStatus(made, "FINALIZED CANCELED");
    await expectVersions("one");
    expect(await api.call("GET", currentDroplet())).toMatchObject({ data: { guid: droplets["one"] } });
    expect(load.failed).toEqual([]);
  });

  test("a version that crashes never takes the old one away", { timeout: 2 * DEPLOY_MS }, async () => {
    const variables = (value: string | null): Promise<unknown> =>
      api.call("PATCH", `/v3/apps/${app.guid}/environment_variables`, { var: { NODE_OPTIONS: value } });
    await variables("--no-such-option");
    const made = await deploy({});
    await eventually(async () => {
      const path = `/v3/processes/${made.new_processes[0]!.guid}/stats`;
      const { resources } = await api.call<Page<{ state: string }>>("GET", path);
      expect(resources.map(({ state }) => state)).toEqual(["CRASHED"]);
    }, DEPLOY_MS);
    await expectVersions("one");
    const { resources } = await api.call<Page<{ state: string }>>("GET", `/v3/processes/${app.guid}/stats`);
    expect(resources.map(({ state }) => state)).toEqual(Array(INSTANCES).fill("RUNNING"));
    await variables(null);
    await act(made, "cancel");
    await untilStatus(made, "FINALIZED CANCELED");
    expect(load.failed).toEqual([]);
  });

  test("five at once: one deploys, four are superseded", { timeout: 2 * DEPLOY_MS }, async () => {
    const made = await Promise.all(["one", "two", "one", "two", "two"].map((version) => deployVersion(version)));
    const statuses = async (): Promise<string[]> => {
      const guids = made.map(({ guid }) => guid).join();
      const { resources } = await api.call<Page<Deployment>>("GET", `/v3/deployments?guids=${guids}`);
      return resources.map(({ status }) => `${status.value} ${status.reason}`).sort();
    };
    await eventually(
      async () =>
        expect(await statuses()).toEqual(["FINALIZED DEPLOYED", ...Array<string>(4).fill("FINALIZED SUPERSEDED")]),
      DEPLOY_MS,
    );
    await expectVersions((await currentVersion()) ?? "");
    expect(load.failed).toEqual([]);
  });

  async function currentVersion(): Promise<string | undefined> {
    const { data } = await api.call<{ data: { guid: string } }>("GET", currentDroplet());
    return Object.keys(droplets).find((version) => droplets[version] === data.guid);
  }
});
