// The chart's other values on a real node: classes off and on again under an app that runs, an uninstallation that takes all data with it or says what blocks it, and a new one.
// By name, since it begins with an installation of its own: `npm run e2e -- --on node node-install`.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { DEFINITIONS } from "../../crds/definitions.ts";
import { eventually } from "../eventually.ts";
import { apiAt, tokenOf, type Named, type Page } from "./support/api.ts";
import { appClient, type AppClient } from "./support/app-client.ts";
import { startNodePlatform, type NodePlatform } from "./support/node-platform.ts";
import { addClients, chosenPlatformKind } from "./support/start-test-platform.ts";
import type { TestPlatform } from "./support/test-platform.ts";

const HELLO = join(import.meta.dirname, "..", "..", "examples", "hello");
const SYSTEM = ["-n", "cupola-system"];
const HOST = "hello.apps.localhost";
/** Pods of the platform change, on a busy machine. */
const SLOW_MS = 180_000;
const reason = chosenPlatformKind() === "node" ? undefined : "it needs --on node";
if (reason) console.log(`installations with other values skipped: ${reason}`);

describe.skipIf(reason)("installed with other values", { timeout: 600_000 }, () => {
  let installed: NodePlatform;
  let stage: TestPlatform;
  let client: AppClient;

  const kubectl = (...args: string[]): Promise<string> => installed.operator.kubectl(...args);
  const podUids = (): Promise<string> =>
    kubectl(
      ...["get", "pods", "-n", "local-dev", "-l", "cupola.dev/process-type", "--sort-by=.metadata.uid"],
      ...["-o", "jsonpath={.items[*].metadata.uid}"],
    );
  const isServed = (): Promise<void> =>
    eventually(async () => expect((await stage.get(HOST)).status).toBe(200), SLOW_MS);

  beforeAll(async () => {
    installed = await startNodePlatform();
    stage = addClients(installed.base, installed.node.kubectl);
    client = appClient(stage);
    await client.signIn();
    await client.run("push", "hello", "-p", HELLO, "-m", "128M");
    await isServed();
  }, 900_000);
  afterAll(() => stage?.stop(), 120_000);

  test("without its runner an app runs on, and a second runner is there beside it", async () => {
    const before = await podUids();
    expect(before).not.toBe("");
    const runners = { default: "statefulset", deployment: { enabled: false }, statefulset: { enabled: true } };
    await installed.operator.install({ ...installed.values, runners });
    expect(await kubectl("get", "deployments", ...SYSTEM, "-o", "name")).not.toContain("cupola-instance-index");
    expect(await podUids()).toBe(before);
    await isServed();
    expect(await kubectl("get", "backendclasses", "statefulset", "-o", "jsonpath={.spec.default}")).toBe("true");
  });

  test("with the runner back the app is scaled by it again", async () => {
    await installed.operator.install(installed.values);
    await client.run("scale", "hello", "-i", "2");
    await eventually(async () => expect(await client.states("hello")).toEqual(["RUNNING", "RUNNING"]), SLOW_MS);
  });

  const uninstall = (): Promise<string> =>
    installed.operator.helm("uninstall", "cupola", ...SYSTEM, "--wait", "--timeout", "8m");

  test("an uninstallation of the data that cannot end names what blocks it, and takes nothing else", async () => {
    await installed.operator.install({ ...installed.values, data: { keep: false } });
    await isServed();
    const api = apiAt(stage.url, tokenOf(stage, "admin"));
    const { resources } = await api.call<Page<Named>>("GET", "/v3/spaces?names=dev");
    const space = { data: { guid: resources[0]?.guid } };
    await api.call("POST", "/v3/service_instances", { type: "user-provided", name: "kept", relationships: { space } });
    const instance = (await kubectl("get", "serviceinstances.cupola.dev", "-n", "local-dev", "-o", "name")).trim();
    const keep = (finalizers: string[]): Promise<string> =>
      kubectl("patch", instance, "-n", "local-dev", "--type=merge", "-p", JSON.stringify({ metadata: { finalizers } }));
    await keep(["example.org/keep"]);
    await expect(uninstall()).rejects.toThrow();
    const log = await kubectl("logs", ...SYSTEM, "job/cupola-delete-data");
    expect(log).toMatch(/the data does not end: .*1 serviceinstances/);
    expect(log).toMatch(/ServiceInstance local-dev\/\S+: .*Next: .*cf purge-service-instance kept/);
    expect(log).toMatch(/Space local\/dev: ContentsRemain: waiting until namespace local-dev is empty/);
    expect(await kubectl("get", "deployments", ...SYSTEM, "-o", "name")).toContain("cupola-controllers");
    await keep([]);
  });

  test("uninstalled with data.keep=false, it leaves no kind, no space, no app and no broker", async () => {
    const broker = { url: "https://broker.invalid", name: "gone", credentialsSecretRef: { name: "none" } };
    const file = join(installed.base.home, "broker.yaml");
    const metadata = { name: "gone", namespace: "cupola-system" };
    writeFileSync(
      file,
      stringify({ apiVersion: "cupola.dev/v1alpha1", kind: "ServiceBroker", metadata, spec: broker }),
    );
    await kubectl("create", "-f", file);
    await eventually(async () =>
      expect(await kubectl("get", "servicebrokers.cupola.dev", "gone", ...SYSTEM, "-o", "yaml")).toContain(
        "- cupola.dev/broker",
      ),
    );
    await uninstall();
    const rules = "validatingadmissionpolicies,validatingwebhookconfigurations,clusterroles,clusterrolebindings";
    await eventually(async () => {
      const kinds = await kubectl("get", "customresourcedefinitions", "-o", "name");
      expect(kinds).not.toContain("cupola.dev");
      const namespaces = await kubectl("get", "namespaces", "-o", "name");
      expect(namespaces).not.toMatch(/namespace\/local/);
      const left = await kubectl("get", rules, "-o", "name");
      expect(left.split("\n").filter((name) => name.includes("cupola"))).toEqual([]);
    }, SLOW_MS);
  });

  test("installed again, it has every kind", async () => {
    await installed.operator.install(installed.values);
    const kinds = (await kubectl("get", "customresourcedefinitions", "-o", "name")).split("\n");
    expect(kinds.filter((name) => name.endsWith("cupola.dev")).length).toBe(DEFINITIONS.length);
    await eventually(async () => {
      const states = await kubectl("get", "replicas.cupola.dev", ...SYSTEM, "-o", "jsonpath={.items[*].status.parked}");
      expect(states.replaceAll("[]", "").trim()).toBe("");
    }, SLOW_MS);
  });
});
