// A run of chaos on a node: a developer works with `cf` while parts are killed; then everything must be as the steps say, once.
import { setTimeout as delay } from "node:timers/promises";
import { LABELS } from "../../../crds/labels.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { findOrphans, readObjects } from "../../e2e/kill/leftovers.ts";
import { cfOn } from "../../e2e/support/cf.ts";
import { startSteadyLoad } from "../../e2e/support/steady-load.ts";
import { eventually } from "../../eventually.ts";
import { endOf, planNodeSchedule, type AppEnd, type AppPlan, type AppStep, type NodeFault } from "./node-schedule.ts";
import { NAMESPACE, pushArguments, STEADY_APP, succeed, type NodeWorld } from "./node-world.ts";

const DOMAIN = "apps.localhost";
/** A step is tried again for so long: programs that were killed often wait in a back-off of a minute. */
const STEP_MS = 240_000;
const CONVERGE_MS = 180_000;
/** From the start of a kubelet until its containers are ready again, and the ingress controller has seen it. */
const KUBELET_START_MS = 20_000;
const ISO_LENGTH = 24;

/** Lines for a person; empty when all is as it must be. */
export async function runNodeChaos(world: NodeWorld, seed: number): Promise<string[]> {
  const { apps, faults } = planNodeSchedule(seed);
  const failures: string[] = [];
  const collect = async (task: Promise<unknown>): Promise<void> => {
    await task.catch((error: unknown) => failures.push(error instanceof Error ? error.message : String(error)));
  };
  const load = startSteadyLoad({ send: () => world.stage.get(`${STEADY_APP}.${DOMAIN}`), everyMs: 100 });
  await Promise.all([
    ...apps.map((plan) => collect(performSteps(world, plan))),
    ...faults.map((fault) => collect(injectFault(world, fault))),
  ]);
  for (const plan of apps) await collect(eventually(() => checkApp(world, endOf(plan)), CONVERGE_MS));
  await collect(eventually(() => checkPlatform(world), CONVERGE_MS));
  await load.stop();
  // Their instances would leave no room on the node for those of the seeds to come.
  for (const plan of apps) await collect(removeApp(world, plan));
  const lost = load.failures.filter((failure) => !isOfKubelet(world, Date.parse(failure.slice(0, ISO_LENGTH))));
  if (lost.length > 0)
    failures.push(
      `${lost.length} of ${load.requests()} requests to an app that nobody touched: ${lost.slice(0, 5).join("; ")}`,
    );
  return failures;
}

/** Before Kubernetes 1.35 a kubelet that starts calls its containers not ready until their probes have succeeded again (KEP 4781). */
function isOfKubelet({ kubeletAway }: NodeWorld, time: number): boolean {
  return kubeletAway.some(({ from, to }) => time >= from && time <= to);
}

/** A program that is down is not killed again. */
async function injectFault({ stage, installed, down, kubeletAway }: NodeWorld, fault: NodeFault): Promise<void> {
  await delay(fault.atMs);
  if (fault.what === "platform") return stage.kill(fault.which);
  if (down.has(fault.what)) return;
  down.add(fault.what);
  const from = Date.now();
  const start = await installed.node.kill(fault.what);
  await delay(fault.downMs);
  start();
  down.delete(fault.what);
  if (fault.what === "kubelet") kubeletAway.push({ from, to: Date.now() + KUBELET_START_MS });
}

async function performSteps(world: NodeWorld, plan: AppPlan): Promise<void> {
  // A configuration of its own: cf writes into it.
  const cf = cfOn(world.stage, { user: plan.app });
  await eventually(() => world.target(cf), STEP_MS);
  for (const [at, step] of plan.steps.entries()) {
    await delay(plan.pauses[at] ?? 0);
    const args = toArguments(world, plan.app, step);
    await eventually(() => succeed(cf, args), STEP_MS);
  }
}

async function removeApp(world: NodeWorld, { app }: AppPlan): Promise<void> {
  const cf = cfOn(world.stage, { user: app });
  await eventually(() => succeed(cf, ["delete", app, "-f", "-r"]), STEP_MS);
}

function toArguments(world: NodeWorld, app: string, step: AppStep): string[] {
  switch (step.do) {
    case "push":
      return pushArguments(world, app);
    case "scale":
      return ["scale", app, "-i", String(step.instances)];
    case "map":
      return ["map-route", app, DOMAIN, "--hostname", step.host];
    case "unmap":
      return ["unmap-route", app, DOMAIN, "--hostname", step.host];
    case "delete":
      return ["delete", app, "-f", "-r"];
    default:
      return [step.do, app];
  }
}

interface KubeItem {
  metadata: { name: string; labels?: Record<string, string>; deletionTimestamp?: string };
  spec?: { instances?: number; replicas?: number; app?: { name: string } };
  status?: {
    phase?: string;
    conditions?: { type: string; status: string; message?: string }[];
    readyReplicas?: number;
  };
}

/** @throws Error that says how the app differs */
async function checkApp(world: NodeWorld, end: AppEnd): Promise<void> {
  const problems = [...(await findObjectProblems(world, end)), ...(await findRouteProblems(world, end))];
  if (problems.length > 0) throw new Error(`${end.app}: ${problems.join("; ")}`);
}

async function findObjectProblems(world: NodeWorld, { app, exists, instances }: AppEnd): Promise<string[]> {
  const items = await list(world, "apps.cupola.dev,lrps.workloads.cupola.dev,deployments,pods", "-n", NAMESPACE);
  const object = items("App").find(({ metadata }) => metadata.name === app);
  if (!object) return exists ? ["the App is missing"] : [];
  if (!exists) return ["the App is still there"];
  const found = describeInstances(items, object.metadata.labels?.[LABELS.guid]);
  const wanted = Array.from({ length: instances }, (_, index) => String(index));
  const expected = describeCounts(Math.min(1, instances), Math.min(1, instances), wanted);
  return [...describeUnreadiness(object), ...(found === expected ? [] : [`${found}; should be ${expected}`])];
}

function describeUnreadiness({ status }: KubeItem): string[] {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return ready?.status === "True" ? [] : [`not ready: ${ready?.message}`];
}

function describeInstances(items: (kind: string) => KubeItem[], guid: string | undefined): string {
  const ours = (kind: string): KubeItem[] =>
    items(kind).filter(({ metadata }) => metadata.labels?.[LABELS.app] === guid);
  const indexes = ours("Pod").map(({ metadata }) => metadata.labels?.[LABELS.instanceIndex]);
  return describeCounts(ours("LRP").length, ours("Deployment").length, indexes.toSorted());
}

function describeCounts(lrps: number, deployments: number, indexes: readonly (string | undefined)[]): string {
  return `${lrps} LRPs, ${deployments} Deployments, instances [${indexes.join()}]`;
}

async function findRouteProblems({ stage }: NodeWorld, { app, instances, hosts }: AppEnd): Promise<string[]> {
  const problems: string[] = [];
  for (const host of [app, `${app}-more`]) {
    const { status } = await stage.get(`${host}.${DOMAIN}`);
    const expected = !hosts.includes(host) ? [404] : instances > 0 ? [200] : [404, 503];
    if (!expected.includes(status)) problems.push(`${host} answers ${status}, not ${expected.join(" or ")}`);
  }
  return problems;
}

/** @throws Error that names what does not run, or is left behind */
async function checkPlatform(world: NodeWorld): Promise<void> {
  const items = await list(world, "deployments", "-n", SYSTEM_NAMESPACE);
  const down = items("Deployment").filter(({ spec, status }) => status?.readyReplicas !== spec?.replicas);
  if (down.length > 0) throw new Error(`not ready: ${down.map(({ metadata }) => metadata.name).join(", ")}`);
  // The owner of a Replica is its Lease, which is not read.
  const objects = (await readObjects(world.stage)).filter(({ kind }) => kind !== "Replica");
  const orphans = findOrphans(objects);
  if (orphans.length > 0) throw new Error(`left behind: ${orphans.slice(0, 10).join("; ")}`);
}

async function list({ installed }: NodeWorld, kinds: string, ...args: string[]): Promise<(kind: string) => KubeItem[]> {
  const text = await installed.operator.kubectl("get", kinds, ...args, "-o", "json");
  const { items } = JSON.parse(text) as { items: (KubeItem & { kind: string })[] };
  return (kind) => items.filter((item) => item.kind === kind);
}
