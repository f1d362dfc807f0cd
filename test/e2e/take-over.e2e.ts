// See, adjust and take over on two nodes: a person owns the Deployment of an app, with an autoscaler and a Service, and Cupola's deletions and upgrades leave its pods alone.
// By name: `npm run e2e -- --on node take-over`.
import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { request } from "undici";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LABELS } from "../../crds/labels.ts";
import { eventually } from "../eventually.ts";
import { cfOn, whyNoCf } from "./support/cf.ts";
import { pushHelloImage } from "./support/hello-image.ts";
import { startNodePlatform, type NodePlatform } from "./support/node-platform.ts";
import { addClients, chosenPlatformKind } from "./support/start-test-platform.ts";
import { startSteadyLoad } from "./support/steady-load.ts";
import type { CommandResult, HttpResponse, TestPlatform } from "./support/test-platform.ts";

const HELLO = join(import.meta.dirname, "..", "..", "examples", "hello");
const IMAGE = "teams/hello:1";
const NAMESPACE = "local-dev";
const NODE_PORT = 30_500;
const MINUTE = 60_000;
const PATCH = "metadata: { annotations: { team: shop } }\nspec: { nodeSelector: { kubernetes.io/os: linux } }\n";
const reason = chosenPlatformKind() === "node" ? whyNoCf() : "it needs --on node";
if (reason) console.log(`journey of a workload that is taken over skipped: ${reason}`);

describe.skipIf(reason)("a workload that a person takes over, on two nodes", { timeout: 10 * MINUTE }, () => {
  let installed: NodePlatform;
  let stage: TestPlatform;
  let run: (...args: string[]) => Promise<CommandResult>;
  /** The Deployment of the app `own`. */
  let deployment: string;

  const must = async (what: string, { code, output }: CommandResult): Promise<string> => {
    expect(code, `${what}\n${output}`).toBe(0);
    return output;
  };
  const cf = async (...args: string[]): Promise<string> => must(`cf ${args.join(" ")}`, await run(...args));
  const cup = async (...args: string[]): Promise<string> => must(`cup ${args.join(" ")}`, await stage.cup(...args));
  const kubectl = (...args: string[]): Promise<string> => installed.operator.kubectl(...args);

  /** Pods of an app that are not ending: uid, node and whether they are ready. */
  async function podsOf(app: string): Promise<{ uid: string; node: string; isReady: boolean }[]> {
    const { items } = JSON.parse(
      await kubectl("get", "pods", "-n", NAMESPACE, "-l", `${LABELS.lrp}`, "-o", "json"),
    ) as { items: PodObject[] };
    return items
      .filter(({ metadata }) => metadata.name.startsWith(`${app}-`) && metadata.deletionTimestamp === undefined)
      .map(({ metadata, spec, status }) => ({
        uid: metadata.uid,
        node: spec.nodeName ?? "",
        isReady: status.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") ?? false,
      }));
  }
  const uidsOf = async (app: string): Promise<string[]> => (await podsOf(app)).map(({ uid }) => uid).toSorted();
  const untilReady = (app: string, count: number): Promise<void> =>
    eventually(
      async () => expect((await podsOf(app)).filter(({ isReady }) => isReady)).toHaveLength(count),
      3 * MINUTE,
    );

  /** By the person's own Service. A new connection for each request. */
  async function getOwn(): Promise<HttpResponse> {
    const answer = await request(`http://${installed.node.nodes[0]!.address}:${NODE_PORT}/healthz`, {
      reset: true,
      headersTimeout: 10_000,
      bodyTimeout: 10_000,
    });
    return { status: answer.statusCode, headers: answer.headers, body: await answer.body.text() };
  }

  async function push(name: string): Promise<void> {
    const { host, username } = installed.node.registry;
    const login = ["--docker-image", `${host}/${IMAGE}`, "--docker-username", username];
    await cf("push", name, ...login, "-m", "512M", "-i", "2", "-u", "http", "--endpoint", "/healthz");
    await untilReady(name, 2);
  }

  beforeAll(async () => {
    installed = await startNodePlatform({ nodes: 2, metricsServer: true });
    stage = addClients(installed.base, installed.node.kubectl);
    run = cfOn(stage);
    const { registry } = installed.node;
    await pushHelloImage(installed, IMAGE, HELLO);
    process.env["CF_DOCKER_PASSWORD"] = registry.password;
    await cf("api", stage.url);
    await cf("auth", "admin");
    await cf("target", "-o", "local", "-s", "dev");
    await cup("login", "--api", stage.url, "--user", "admin");
    await cup("target", "--org", "local", "--space", "dev");
    await push("own");
  }, 20 * MINUTE);
  afterAll(() => stage?.stop(), MINUTE);

  test("cup adjust reaches the pods by a rolling deployment, and cup workload shows what is generated", async () => {
    const file = join(stage.home, "patch.yaml");
    writeFileSync(file, PATCH);
    await cup("adjust", "own", "-f", file, "--now");
    await untilReady("own", 2);
    const read = "jsonpath={.items[*].metadata.annotations.team} {.items[*].spec.nodeSelector}";
    await eventually(async () => {
      const pods = await kubectl("get", "pods", "-n", NAMESPACE, "-l", LABELS.lrp, "-o", read);
      expect(pods).toBe('shop shop {"kubernetes.io/os":"linux"} {"kubernetes.io/os":"linux"}');
    }, 2 * MINUTE);
    const shown = await cup("workload", "own");
    expect(shown).toMatch(/adjusted by:\s+own\.web \(InForce/);
    deployment = /Deployment (\S+),/.exec(shown)?.[1] ?? "";
    expect(await kubectl("get", "deployment", deployment, "-n", NAMESPACE, "-o", "name")).toContain(deployment);
  });

  test("cup detach hands it over without a new pod, and cf changes nothing of it", async () => {
    const before = await uidsOf("own");
    expect(await cup("detach", "own")).toContain("is yours");
    const { code, output } = await run("scale", "own", "-i", "4");
    expect([code, output]).toEqual([1, expect.stringContaining("cup attach own")]);
    expect(await uidsOf("own")).toEqual(before);
    await eventually(async () => expect(await cf("app", "own")).toMatch(/#0\s+running[\s\S]*#1\s+running/), MINUTE);
  });

  test("an autoscaler scales it by what metrics-server measures, and Cupola lets the new pod start", async () => {
    const before = await uidsOf("own");
    const metric = {
      type: "Resource",
      resource: { name: "cpu", target: { type: "AverageValue", averageValue: "1m" } },
    };
    await create({
      apiVersion: "autoscaling/v2",
      kind: "HorizontalPodAutoscaler",
      metadata: { name: "own", namespace: NAMESPACE },
      spec: {
        scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: deployment },
        minReplicas: 2,
        maxReplicas: 3,
        metrics: [metric],
      },
    });
    const load = startSteadyLoad({ send: () => stage.get("own.apps.localhost", "/healthz"), everyMs: 100 });
    await untilReady("own", 3).finally(() => load.stop());
    expect(load.failures).toEqual([]);
    expect(await uidsOf("own")).toEqual(expect.arrayContaining(before));
    const read = 'jsonpath={.status.conditions[?(@.type=="ScalingActive")].status}';
    expect(await kubectl("get", "hpa", "own", "-n", NAMESPACE, "-o", read)).toBe("True");
    await eventually(async () => expect(await cf("app", "own")).toMatch(/#2\s+running/), MINUTE);
  });

  test("another app comes back by cup attach, with the same pods", async () => {
    await push("back");
    // An LRP that a rollout made has another process GUID than the process.
    await cf("restart", "back", "--strategy", "rolling");
    await eventually(async () => expect(await uidsOf("back")).toHaveLength(2), MINUTE);
    const before = await uidsOf("back");
    await cup("detach", "back");
    expect(await cup("attach", "back")).toContain("Cupola's again");
    await cf("scale", "back", "-i", "3");
    await untilReady("back", 3);
    expect(await uidsOf("back")).toEqual(expect.arrayContaining(before));
    await cf("delete", "back", "-f", "-r");
    await eventually(async () => expect(await uidsOf("back")).toEqual([]), MINUTE);
  });

  test("cf delete and an upgrade of Cupola leave its pods alone, and no request by a Service of one's own fails", async () => {
    const selector = /selector:\s+(\S+)/.exec(await cup("workload", "own"))?.[1] ?? "";
    await create({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "own", namespace: NAMESPACE },
      spec: {
        type: "NodePort",
        selector: Object.fromEntries(selector.split(",").map((pair) => pair.split("="))),
        ports: [{ port: 80, targetPort: 8080, nodePort: NODE_PORT }],
      },
    });
    await eventually(async () => expect((await getOwn()).status).toBe(200), MINUTE);
    const before = await uidsOf("own");
    expect(before).toHaveLength(3);
    const load = startSteadyLoad({ send: getOwn, everyMs: 100 });
    try {
      await cf("delete", "own", "-f", "-r");
      await eventually(
        async () => expect(await kubectl("get", "cfapp", "-n", NAMESPACE)).not.toMatch(/^own\s/m),
        MINUTE,
      );
      await installed.operator.pushCupola("system/cupola:next");
      await installed.operator.install({ ...installed.values, image: { ...installed.values.image, tag: "next" } });
    } finally {
      await load.stop();
    }
    expect(load.requests()).toBeGreaterThan(20);
    expect(load.failures).toEqual([]);
    expect(await uidsOf("own")).toEqual(before);
    expect(await kubectl("get", "cflrp", "-n", NAMESPACE, "-o", "name")).toContain(deployment);
  });

  test("a drain moves the pods of one node, the others stay, and no request fails", async () => {
    const before = await podsOf("own");
    const stay = before.filter(({ node }) => node !== "node2").map(({ uid }) => uid);
    expect(stay.length).toBeGreaterThan(0);
    expect(stay.length).toBeLessThan(before.length);
    const load = startSteadyLoad({ send: getOwn, everyMs: 100 });
    const drain = ["--ignore-daemonsets", "--delete-emptydir-data", `--pod-selector=${LABELS.app}`];
    await kubectl("drain", "node2", ...drain, "--timeout=300s");
    await untilReady("own", 3).finally(() => load.stop());
    expect(load.failures).toEqual([]);
    const after = await podsOf("own");
    expect(after.map(({ uid }) => uid)).toEqual(expect.arrayContaining(stay));
    expect(new Set(after.map(({ node }) => node))).toEqual(new Set(["node1"]));
  });

  async function create(object: object): Promise<void> {
    const file = join(mkdtempSync(join(stage.home, "object-")), "object.json");
    writeFileSync(file, JSON.stringify(object));
    await kubectl("create", "-f", file);
  }
});

interface PodObject {
  metadata: { name: string; uid: string; deletionTimestamp?: string };
  spec: { nodeName?: string };
  status: { conditions?: { type: string; status: string }[] };
}
