// An upgrade on a node from another commit to this one, and the code back again, under load: no request to an app or the API fails, no pod of an app changes, and kinds stay the newer ones.
// By name: `npm run e2e -- --on node --from REVISION upgrade`; the newest tag unless said.
import { createHash } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { eventually } from "../eventually.ts";
import { apiAt, tokenOf } from "./support/api.ts";
import { appClient, type AppClient } from "./support/app-client.ts";
import { pushHelloImage } from "./support/hello-image.ts";
import { startNodePlatform, type NodePlatform } from "./support/node-platform.ts";
import { findRevisionBefore } from "./support/other-commit.ts";
import { addClients, chosenPlatformKind } from "./support/start-test-platform.ts";
import { startSteadyLoad, type SteadyLoad } from "./support/steady-load.ts";
import type { TestPlatform } from "./support/test-platform.ts";

const HELLO = join(import.meta.dirname, "..", "..", "examples", "hello");
const IMAGE = "teams/hello:1";
/** It is the share of the processor, too: with less an instance answers too late on a busy machine. */
const MEMORY = "512M";
const MINUTE = 60_000;
/** Room for the platform's new pods beside the old: apps fill the two cores of the node. */
const RESOURCES = {
  ...requests("50m", ["api", "controllers", "instance-index"]),
  ...requests("25m", ["logs", "policies", "webhook", "ssh-proxy", "route-service"]),
};
const reason = chosenPlatformKind() === "node" ? undefined : "it needs --on node";
if (reason) console.log(`journey of an upgrade skipped: ${reason}`);

describe.skipIf(reason)("an upgrade and back under load", { timeout: 20 * MINUTE }, () => {
  let installed: NodePlatform;
  let stage: TestPlatform;
  let client: AppClient;

  const kubectl = (...args: string[]): Promise<string> => installed.operator.kubectl(...args);
  /** Name, uid and restarts of each instance of an app. */
  const readPods = (): Promise<string> =>
    kubectl(
      ...["get", "pods", "-n", "local-dev", "-l", "cupola.dev/process-type", "--sort-by=.metadata.uid", "-o"],
      'jsonpath={range .items[*]}{.metadata.name} {.metadata.uid} {.status.containerStatuses[*].restartCount}{"\\n"}{end}',
    );
  /** Digests of what each kind says, by its name. */
  async function readKinds(): Promise<Record<string, string>> {
    const { items } = JSON.parse(await kubectl("get", "crd", "-o", "json")) as {
      items: { metadata: { name: string }; spec: object }[];
    };
    const own = items.filter(({ metadata }) => metadata.name.endsWith("cupola.dev"));
    return Object.fromEntries(
      own.map(({ metadata, spec }) => [
        metadata.name,
        createHash("sha256").update(JSON.stringify(spec)).digest("hex").slice(0, 12),
      ]),
    );
  }
  const runningImages = async (): Promise<string[]> => {
    const read = "jsonpath={.items[*].spec.template.spec.containers[0].image}";
    const images = await kubectl("get", "deployments", "-n", SYSTEM_NAMESPACE, "-o", read);
    return [...new Set(images.split(" ").map((image) => image.replace(/^.*:/, "")))];
  };

  /** Installs this checkout's chart with the image of a tag while apps and the API have constant load. */
  async function installUnderLoad(tag: string): Promise<void> {
    const before = await readPods();
    expect(before.trim().split("\n").length).toBeGreaterThanOrEqual(3);
    const api = apiAt(stage.url, tokenOf(stage, "admin"));
    const loads: Record<string, SteadyLoad> = {
      source: startSteadyLoad({ send: () => stage.get("hello.apps.localhost"), everyMs: 100 }),
      image: startSteadyLoad({ send: () => stage.get("image.apps.localhost"), everyMs: 100 }),
      api: startSteadyLoad({ send: () => api.send("GET", "/v3/apps"), everyMs: 200 }),
    };
    const image = { ...installed.values.image, tag };
    await installed.operator.install({ ...installed.values, image }).finally(async () => {
      await Promise.all(Object.values(loads).map((load) => load.stop()));
      const counts = Object.entries(loads).map(
        ([name, load]) => `${name} ${load.requests()}, ${load.failures.length} failed`,
      );
      console.log(`requests while ${tag} was installed: ${counts.join("; ")}`);
    });
    for (const [name, load] of Object.entries(loads)) {
      expect(load.failures, name).toEqual([]);
      expect(load.requests(), name).toBeGreaterThan(20);
    }
    expect(await readPods()).toBe(before);
    expect(await runningImages()).toEqual([tag]);
  }

  beforeAll(async () => {
    const from = process.env["CUPOLA_UPGRADE_FROM"] ?? (await findRevisionBefore());
    console.log(`the upgrade begins with ${from}`);
    installed = await startNodePlatform({ from, replicas: 2, resources: RESOURCES });
    stage = addClients(installed.base, installed.node.kubectl);
    client = appClient(stage);
    await client.signIn();
    const reference = await pushHelloImage(installed, IMAGE, HELLO);
    const { username, password } = installed.node.registry;
    await client.pushImage("image", { reference, username, password });
    await client.run("push", "hello", "-p", HELLO, "-m", MEMORY, "-i", "2", "-u", "http", "--endpoint", "/healthz");
    for (const [name, count] of Object.entries({ image: 1, hello: 2 })) {
      await eventually(async () => expect(await client.states(name)).toEqual(Array(count).fill("RUNNING")), 3 * MINUTE);
      await eventually(async () => expect((await stage.get(`${name}.apps.localhost`)).status).toBe(200), 2 * MINUTE);
    }
  }, 20 * MINUTE);
  afterAll(() => stage?.stop(), MINUTE);

  test("to this commit", async () => {
    await installed.operator.pushCupola("system/cupola:next");
    await installUnderLoad("next");
    await client.run("restart", "image", "--strategy", "rolling");
  });

  test("the code back to the one before, with the kinds of this one", async () => {
    const kinds = await readKinds();
    expect(Object.keys(kinds).length).toBeGreaterThan(30);
    await installUnderLoad(installed.values.image.tag);
    expect(await readKinds()).toEqual(kinds);
    await client.run("scale", "hello", "-i", "3");
    await eventually(async () => expect(await client.states("hello")).toEqual(Array(3).fill("RUNNING")), 3 * MINUTE);
  });

  test("and to this commit again", () => installUnderLoad("next"));
});

function requests(cpu: string, parts: readonly string[]): Record<string, object> {
  return Object.fromEntries(parts.map((part) => [part, { requests: { cpu } }]));
}
