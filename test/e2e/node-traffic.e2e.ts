// Apps on two nodes under constant load, while what is around them changes: parts of the platform, another app, nodes, routes. No request fails.
// A quarter of an hour; `npm run e2e -- --on node --only drains node-traffic` runs one of its tests.
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { LABELS } from "../../crds/labels.ts";
import { eventually } from "../eventually.ts";
import { apiAt, tokenOf } from "./support/api.ts";
import { cfOn, whyNoCf } from "./support/cf.ts";
import { pushHelloImage } from "./support/hello-image.ts";
import { startNodePlatform, type NodePlatform } from "./support/node-platform.ts";
import { addClients, chosenPlatformKind } from "./support/start-test-platform.ts";
import { startSteadyLoad, type SteadyLoad } from "./support/steady-load.ts";
import type { CommandResult, TestPlatform } from "./support/test-platform.ts";

const HELLO = join(import.meta.dirname, "..", "..", "examples", "hello");
const IMAGE = "teams/hello:1";
/** It is the share of the processor, too: with 5 % the app answers its health check in time on a busy machine. */
const MEMORY = "512M";
const PARTS = ["api", "controllers", "instance-index", "logs", "webhook"];
/** Rounds in which all parts restart. */
const ROUNDS = 4;
/** By a rolling deployment, and as often by stop and start; fewer fit into ten minutes. */
const APP_RESTARTS = Number(process.env["CUPOLA_TRAFFIC_RESTARTS"] ?? "10");
const DRAINS = 5;
const ROUTE_CHANGES = 10;
const MINUTE = 60_000;
const reason = chosenPlatformKind() === "node" ? whyNoCf() : "it needs --on node";
if (reason) console.log(`journey of traffic on nodes skipped: ${reason}`);

describe.skipIf(reason)("under load on two nodes", () => {
  let installed: NodePlatform;
  let stage: TestPlatform;
  let run: (...args: string[]) => Promise<CommandResult>;
  let loads: Record<"steady" | "neighbour" | "api", SteadyLoad>;

  async function cf(...args: string[]): Promise<string> {
    const { code, output } = await run(...args);
    expect(code, `cf ${args.join(" ")}\n${output}`).toBe(0);
    return output;
  }
  const kubectl = (...args: string[]): Promise<string> => installed.operator.kubectl(...args);
  const answers = (host: string, status: number): Promise<void> =>
    eventually(async () => expect((await stage.get(`${host}.apps.localhost`)).status).toBe(status), MINUTE);
  const loadApp = (name: string): SteadyLoad => startSteadyLoad({ send: () => stage.get(`${name}.apps.localhost`) });

  /** Prints how long it took and what failed by then, so that a run that is cut short says something, too. */
  async function timed(what: string, perform: () => Promise<unknown>): Promise<void> {
    const started = performance.now();
    await perform();
    const failed = Object.entries(loads).map(([name, { failures }]) => `${name} ${failures.length}`);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.log(`${new Date().toISOString()} ${what}: ${seconds} s; failed requests: ${failed.join(", ")}`);
  }

  /** Ends loads. @throws Error with how many of their requests failed, and the first of them */
  async function expectNoFailures(...names: (keyof typeof loads)[]): Promise<void> {
    await Promise.all(names.map((name) => loads[name].stop()));
    const failures = names.map((name) => [name, loads[name].failures.length, loads[name].failures.slice(0, 12)]);
    console.log(`requests: ${names.map((name) => `${name} ${loads[name].requests()}`).join(", ")}`);
    expect(failures).toEqual(names.map((name) => [name, 0, []]));
    for (const name of names) expect(loads[name].requests()).toBeGreaterThan(20);
  }

  beforeAll(async () => {
    installed = await startNodePlatform({ nodes: 2, replicas: 2 });
    stage = addClients(installed.base, installed.node.kubectl);
    run = cfOn(stage);
    const { registry } = installed.node;
    await pushHelloImage(installed, IMAGE, HELLO);
    process.env["CF_DOCKER_PASSWORD"] = registry.password;
    await cf("api", stage.url);
    await cf("auth", "admin");
    await cf("target", "-o", "local", "-s", "dev");
    for (const name of ["steady", "neighbour"]) {
      const login = ["--docker-image", `${registry.host}/${IMAGE}`, "--docker-username", registry.username];
      await cf("push", name, ...login, "-m", MEMORY, "-i", "2", "-u", "http", "--endpoint", "/healthz");
      await answers(name, 200);
    }
  }, 20 * MINUTE);
  afterAll(() => stage?.stop(), MINUTE);
  beforeEach(() => {
    const api = apiAt(stage.url, tokenOf(stage, "admin"));
    loads = {
      steady: loadApp("steady"),
      neighbour: loadApp("neighbour"),
      api: startSteadyLoad({ send: () => api.send("GET", "/v3/apps"), everyMs: 100 }),
    };
  });
  afterEach(async () => {
    for (const load of Object.values(loads)) await load.stop();
  });

  test("two replicas of each part are ready, on both nodes", async () => {
    const text = await kubectl(
      ...["get", "pods", "-n", SYSTEM_NAMESPACE, "-l", "app.kubernetes.io/component", "-o"],
      'jsonpath={range .items[*]}{.metadata.labels.app\\.kubernetes\\.io/component} {.spec.nodeName} {.status.conditions[?(@.type=="Ready")].status}{"\\n"}{end}',
    );
    const ready = text.split("\n").filter((line) => line.endsWith(" True"));
    expect(ready.toSorted()).toEqual(PARTS.flatMap((part) => [`${part} node1 True`, `${part} node2 True`]));
  });

  test(
    `${ROUNDS * PARTS.length} restarts of the platform's Deployments`,
    async () => {
      const deployments = PARTS.map((part) => `deployment/cupola-${part}`);
      for (let round = 0; round < ROUNDS; round++) {
        await kubectl("rollout", "restart", "-n", SYSTEM_NAMESPACE, ...deployments);
        for (const deployment of deployments)
          await kubectl("rollout", "status", "-n", SYSTEM_NAMESPACE, deployment, "--timeout=300s");
      }
      await expectNoFailures("steady", "neighbour", "api");
    },
    ROUNDS * 6 * MINUTE,
  );

  test(
    `${APP_RESTARTS} rolling restarts of another app`,
    async () => {
      for (let restarts = 0; restarts < APP_RESTARTS; restarts++)
        await timed(`rolling restart ${restarts + 1}`, () => cf("restart", "neighbour", "--strategy", "rolling"));
      await expectNoFailures("steady", "neighbour", "api");
    },
    APP_RESTARTS * 2 * MINUTE,
  );

  test(
    `${APP_RESTARTS} restarts of another app`,
    async () => {
      await loads.neighbour.stop();
      for (let restarts = 0; restarts < APP_RESTARTS; restarts++)
        await timed(`restart ${restarts + 1}`, () => cf("restart", "neighbour"));
      await answers("neighbour", 200);
      await expectNoFailures("steady", "api");
    },
    APP_RESTARTS * MINUTE,
  );

  test(
    `${DRAINS} drains of a node`,
    async () => {
      for (let drains = 0; drains < DRAINS; drains++) {
        const name = `node${2 - (drains % 2)}`;
        const drain = ["--ignore-daemonsets", "--delete-emptydir-data", `--pod-selector=${LABELS.app}`];
        await kubectl("drain", name, ...drain, "--timeout=300s");
        await eventually(async () => expect(await cf("apps")).toMatch(/neighbour .*2\/2[\s\S]*steady .*2\/2/), MINUTE);
        await kubectl("uncordon", name);
      }
      await expectNoFailures("steady", "neighbour", "api");
    },
    DRAINS * 5 * MINUTE,
  );

  test(
    `${ROUTE_CHANGES} changes of routes`,
    async () => {
      for (let changes = 0; changes < ROUTE_CHANGES / 2; changes++) {
        const host = `also-${changes}`;
        await cf("map-route", "steady", "apps.localhost", "--hostname", host);
        await answers(host, 200);
        await cf("unmap-route", "steady", "apps.localhost", "--hostname", host);
        await answers(host, 404);
      }
      await expectNoFailures("steady", "neighbour", "api");
    },
    ROUTE_CHANGES * MINUTE,
  );
});
