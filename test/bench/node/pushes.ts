// `npm run bench -- push`: push, start and scale on a real node, with the platform installed by its chart; where the time goes.
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { request } from "undici";
import { Build } from "../../../crds/build/build.ts";
import { Droplet } from "../../../crds/droplet/droplet.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { Package } from "../../../crds/package/package.ts";
import { Staging } from "../../../crds/staging/staging.ts";
import { Deployment, Pod } from "../../../kube/api/builtin.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { startNodePlatform, type NodePlatform } from "../../e2e/support/node-platform.ts";
import { addClients } from "../../e2e/support/start-test-platform.ts";
import type { TestPlatform } from "../../e2e/support/test-platform.ts";
import { type Figure, figure, median, told } from "../figure.ts";
import { until } from "../until.ts";
import { readContainerTimes } from "./containers.ts";
import {
  gateDelays,
  isInstance,
  isReady,
  ownPart,
  phasesOfPush,
  phasesOfStart,
  type Facts,
  type Phase,
} from "./phases.ts";
import { recordChanges, wallClock } from "./recorder.ts";

const HELLO = join(import.meta.dirname, "..", "..", "..", "examples", "hello");
const NAMESPACE = "local-dev";
const NAME = "bench";
const HOST = `${NAME}.apps.localhost`;
const KINDS = [Package, Build, Staging, Droplet, LRP, Deployment, Pod];
const TURNS = 3;
const SCALE_TO = 20;
const POLL_MS = 10;

/** Inputs of a turn. */
interface Stage {
  node: NodePlatform["node"];
  admin: KubeClient;
  platform: TestPlatform;
  source: string;
}

export async function measurePushes(): Promise<Figure[]> {
  const { base, node } = await startNodePlatform();
  const platform = addClients(base, node.kubectl);
  const admin = createClient({ server: node.url, ca: node.ca, auth: { kind: "token", token: node.adminToken } });
  try {
    node.recordContainers();
    const stage = { node, admin, platform, source: join(platform.home, "source") };
    cpSync(HELLO, stage.source, { recursive: true });
    await cup(stage, "login", "--api", platform.url);
    logProgress("the first push");
    const first = (await timed(() => push(stage, 0))) / 1000;
    return [
      figure("cup push of a small Node app to a node, the first one, to its first 200", first, "s"),
      ...told(summarize("cup push, warm", await turns((turn) => measurePush(stage, turn)), 1)),
      ...told(summarize("stopped app started", await turns(() => measureStart(stage)))),
      ...(await measureScale(stage)),
    ];
  } finally {
    await admin.close();
    await platform.stop();
  }
}

const logProgress = (what: string): void => void process.stderr.write(`push: ${what} …\n`);

async function turns<T>(once: (turn: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (let turn = 1; turn <= TURNS; turn++) results.push(await once(turn));
  return results;
}

/** Medians of all phases, of the whole, and of what is neither lifecycle nor kubelet. */
function summarize(what: string, runs: readonly Phase[][], maxOwnSeconds?: number): Figure[] {
  const total = (phases: readonly Phase[]): number => phases.reduce((sum, { ms }) => sum + ms, 0);
  const seconds = (of: (phases: readonly Phase[]) => number): number => median(runs.map(of)) / 1000;
  const names = runs[0]?.map(({ name, owner }) => `${what}: ${name} (${owner})`) ?? [];
  return [
    figure(`${what}, to its first 200`, seconds(total), "s"),
    figure(
      `${what}: all but lifecycle, pull and kubelet`,
      seconds((phases) => ownPart(phases)),
      "s",
      ...(maxOwnSeconds === undefined ? [] : [{ max: maxOwnSeconds }]),
    ),
    figure(
      `${what}: of that, Cupola's processes`,
      seconds((phases) => ownPart(phases, ["cupola"])),
      "s",
    ),
    ...names.map((name, at) => figure(name, median(runs.map((phases) => phases[at]?.ms ?? NaN)), "ms")),
  ];
}

/** The app is stopped first, since a push replaces a running one only after it has ended. */
async function measurePush(stage: Stage, turn: number): Promise<Phase[]> {
  logProgress(`warm push ${turn}`);
  await stopApp(stage);
  return phasesOfPush(await record(stage, () => push(stage, turn)));
}

async function measureStart(stage: Stage): Promise<Phase[]> {
  logProgress("a stopped app started");
  await stopApp(stage);
  const guid = await appGUID(stage);
  const facts = await record(stage, async () => {
    await api(stage, "POST", `/v3/apps/${guid}/actions/start`);
    await untilAnswers(stage);
  });
  return phasesOfStart(facts);
}

/** Observations while `work` ran, which ends with the first 200. */
async function record(stage: Stage, work: () => Promise<void>): Promise<Facts> {
  const recorder = await recordChanges(stage.admin, NAMESPACE, KINDS);
  try {
    const begunAt = wallClock();
    await work();
    const answeredAt = wallClock();
    // The last changes may arrive after the answer.
    await until(
      () =>
        Promise.resolve(
          recorder.changes.some(({ kind, object }) => kind === "Pod" && isInstance(object) && isReady(object)),
        ),
      "the instance is not ready",
    );
    const containers = readContainerTimes(readFileSync(stage.node.containerLog, "utf8"));
    return { begunAt, answeredAt, changes: recorder.changes, containers };
  } finally {
    await recorder.stop();
  }
}

/** Pushes another version, and resolves when that one answers: the app was stopped before. */
async function push(stage: Stage, turn: number): Promise<void> {
  const text = readFileSync(join(HELLO, "server.js"), "utf8");
  writeFileSync(join(stage.source, "server.js"), `${text}\n// version ${turn}\n`);
  await Promise.all([cup(stage, "push", NAME, "--path", stage.source, "--memory", "128M"), untilAnswers(stage)]);
}

/** Resolves when nothing of what ran is left. */
async function stopApp(stage: Stage): Promise<void> {
  await cup(stage, "stop", NAME);
  await until(async () => {
    const refs: ResourceRef[] = [LRP, Deployment];
    const lists = refs.map((ref) => stage.admin.list(ref, { namespace: NAMESPACE, metadata: true }));
    return (await Promise.all(lists)).every(({ items }) => items.length === 0);
  }, "the app does not stop");
}

/** From the request to twenty instances, as the API tells it and as Kubernetes does. The first time is told apart: what opens gates has opened few before. */
async function measureScale(stage: Stage): Promise<Figure[]> {
  const first = await measureScaleUp(stage);
  const rest = await turns(() => measureScaleUp(stage));
  const what = `scale 1 to ${SCALE_TO}`;
  return [
    figure(`${what}, until all instances are RUNNING`, median(rest.map(({ ms }) => ms)) / 1000, "s"),
    figure(`${what}: the slowest gate`, median(rest.map(({ slowestGate }) => slowestGate)), "ms", { max: 200 }),
    figure(`${what}: the slowest gate of the first time`, first.slowestGate, "ms"),
  ];
}

/** In milliseconds. One instance is left when it resolves. */
async function measureScaleUp(stage: Stage): Promise<{ ms: number; slowestGate: number }> {
  logProgress(`scale 1 to ${SCALE_TO}`);
  const guid = await appGUID(stage);
  const scale = (instances: number): Promise<unknown> =>
    api(stage, "POST", `/v3/apps/${guid}/processes/web/actions/scale`, { instances });
  const recorder = await recordChanges(stage.admin, NAMESPACE, [Pod]);
  const ms = await timed(async () => {
    await scale(SCALE_TO);
    await until(
      async () => {
        const { resources } = await api<{ resources: { state: string }[] }>(
          stage,
          "GET",
          `/v3/apps/${guid}/processes/web/stats`,
        );
        return resources.filter(({ state }) => state === "RUNNING").length === SCALE_TO;
      },
      `${SCALE_TO} instances do not run`,
      50,
    );
  });
  await recorder.stop();
  await scale(1);
  await until(async () => {
    const { items } = await stage.admin.list(Pod, { namespace: NAMESPACE, metadata: true });
    return items.filter(isInstance).length === 1;
  }, "the instances do not end");
  return { ms, slowestGate: Math.max(...gateDelays(recorder.changes)) };
}

async function untilAnswers({ platform }: Stage): Promise<void> {
  await until(async () => (await platform.get(HOST)).status === 200, `${HOST} does not answer`, POLL_MS);
}

async function appGUID({ platform }: Stage): Promise<string> {
  return (await platform.cupJson<{ guid: string }>("app", NAME)).guid;
}

async function api<T>({ platform, node }: Stage, method: "GET" | "POST", path: string, given?: object): Promise<T> {
  const { statusCode, body } = await request(`${platform.url}${path}`, {
    method,
    headers: { authorization: `bearer ${node.adminToken}`, "content-type": "application/json" },
    ...(given && { body: JSON.stringify(given) }),
  });
  const text = await body.text();
  if (statusCode >= 400) throw new Error(`${method} ${path} was answered ${statusCode}: ${text}`);
  return JSON.parse(text) as T;
}

async function cup({ platform }: Stage, ...args: string[]): Promise<void> {
  const { code, output } = await platform.cup(...args);
  if (code !== 0) throw new Error(`cup ${args.join(" ")} ended with ${code}: ${output}`);
}

async function timed(work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}
