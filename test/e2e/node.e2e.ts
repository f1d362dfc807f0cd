// The platform on a real node, installed by its chart: source and images become pods behind an ingress controller, an upgrade changes no app pod, and what uninstall leaves.
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../eventually.ts";
import { appClient, type AppClient } from "./support/app-client.ts";
import { pushHelloImage } from "./support/hello-image.ts";
import { startNodePlatform, type NodePlatform } from "./support/node-platform.ts";
import { addClients, chosenPlatformKind } from "./support/start-test-platform.ts";
import { startSteadyLoad } from "./support/steady-load.ts";
import type { TestPlatform } from "./support/test-platform.ts";

const HELLO = join(import.meta.dirname, "..", "..", "examples", "hello");
const IMAGE = "teams/hello:1";
const reason = chosenPlatformKind() === "node" ? undefined : "it needs --on node";
if (reason) console.log(`journey of an operator skipped: ${reason}`);

describe.skipIf(reason)("installed by the chart on a node", () => {
  let installed: NodePlatform;
  let stage: TestPlatform;
  let client: AppClient;

  const podUids = (): Promise<string> =>
    installed.operator.kubectl(
      ...["get", "pods", "-n", "local-dev", "-l", "cupola.dev/process-type", "--sort-by=.metadata.uid"],
      ...["-o", "jsonpath={.items[*].metadata.uid}"],
    );

  beforeAll(async () => {
    installed = await startNodePlatform({ from: "HEAD~1" });
    stage = addClients(installed.base, installed.node.kubectl);
    client = appClient(stage);
    await client.signIn();
  }, 900_000);
  afterAll(() => stage?.stop(), 60_000);

  test("a push of source: built by Cloud Native Buildpacks, run as pods, reached through Traefik", async () => {
    await client.run("push", "hello", "-p", HELLO, "-m", "128M", "-i", "2", "-u", "http", "--endpoint", "/");
    await eventually(async () => expect((await stage.get("hello.apps.localhost")).status).toBe(200));
    await eventually(async () => expect(await client.run("app", "hello")).toMatch(/#0\s+running[\s\S]*#1\s+running/));
    await eventually(async () => {
      const recent = await client.run("logs", "hello", "--recent");
      for (const source of ["[API/0]", "[STG/0]", "[APP/PROC/WEB/0]", "[CELL/0]"]) expect(recent).toContain(source);
    });
  }, 600_000);

  test("a push of an image of a registry with a password", async () => {
    const reference = await pushHelloImage(installed, IMAGE, HELLO);
    const { username, password } = installed.node.registry;
    await client.pushImage("image", { reference, username, password });
    await eventually(async () => expect((await stage.get("image.apps.localhost")).status).toBe(200));
  }, 200_000);

  test("helm upgrade from the commit before changes no app pod, and no request fails", async () => {
    const before = await podUids();
    expect(before.split(" ").length).toBeGreaterThanOrEqual(3);
    await installed.operator.pushCupola("system/cupola:next");
    const image = { ...installed.values.image, tag: "next" };
    const load = startSteadyLoad({ send: () => stage.get("hello.apps.localhost"), everyMs: 200 });
    await installed.operator.install({ ...installed.values, image }).finally(() => load.stop());
    expect(load.requests()).toBeGreaterThan(10);
    expect(load.failures).toEqual([]);
    expect(await podUids()).toBe(before);
  }, 600_000);

  test("helm uninstall keeps the data, and apps serve on", async () => {
    const before = await podUids();
    await installed.operator.helm("uninstall", "cupola", "-n", "cupola-system", "--wait");
    expect((await stage.get("hello.apps.localhost")).status).toBe(200);
    expect(await installed.operator.kubectl("get", "apps.cupola.dev", "-n", "local-dev", "-o", "name")).toContain(
      "app.cupola.dev/hello",
    );
    expect(await podUids()).toBe(before);
  }, 120_000);
});
