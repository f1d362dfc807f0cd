// `cup detach` and `cup attach`: hands the workload of an app over to people, and takes it back. No pod is replaced by a hand-over.
import { isDeepStrictEqual } from "node:util";
import { INDEX_GATE } from "../../crds/lrp/index-gate.ts";
import type { LRP } from "../../crds/lrp/lrp.ts";
import { STABLE_LABELS } from "../../crds/labels.ts";
import { PlacementDecision } from "../../crds/placement-decision/placement-decision.ts";
import { Process } from "../../crds/process/process.ts";
import { Deployment, StatefulSet } from "../../kube/api/builtin.ts";
import type { Condition, KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isForbidden } from "../../kube/client/errors.ts";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import type { Result } from "../output.ts";
import { findActive } from "../rollout/deployment.ts";
import { quoteForShell } from "../shell-words.ts";
import { awaitReady } from "./await-ready.ts";
import { readApp, type AppObjects } from "./read-app.ts";
import { renderLRP } from "./rendered.ts";

const DONE_MS = 60_000;

/** Kinds that make the pods, by class. */
const WORKLOADS: Readonly<Record<string, ResourceRef>> = { deployment: Deployment, statefulset: StatefulSet };

export async function detach(kube: KubeClient, context: Context, name: string): Promise<Result> {
  const app = await readApp(kube, context, name);
  const word = quoteForShell(name);
  const lrps = app.lrps.filter(({ spec, metadata }) => !spec.detached && !metadata.deletionTimestamp);
  await requireDetachable(context, app, lrps);
  const processes = processesOf(lrps, app);
  await requireNotPlaced(kube, app, processes);
  for (const process of processes) await setDetached(kube, process, true);
  context.progress.step("handing over; no instance is replaced");
  for (const process of processes) await waitFor(kube, process, (ready) => ready.reason === "Detached");
  return {
    json: {
      app: name,
      namespace: app.namespace,
      detached: lrps.map(({ metadata, spec }) => ({ name: metadata.name, class: spec.class })),
    },
    text: [
      `The workload of ${name} is yours: its instances run on, and cf delete, restarts and upgrades leave it alone.`,
      ...lrps.flatMap((lrp) => ["", ...describeHandOver(lrp, app.namespace)]),
      "",
      `Next: kubectl get ${[...new Set(lrps.map(kindOf))].join(",")} -n ${app.namespace}; cup attach ${word} takes it back`,
    ],
  };
}

async function requireDetachable(
  context: Context,
  { resource, namespace }: AppObjects,
  lrps: readonly LRP[],
): Promise<void> {
  const word = quoteForShell(resource.name);
  if (lrps.length === 0)
    throw new Failure(`nothing of ${resource.name} runs that could be handed over`, { next: `cup workload ${word}` });
  const other = lrps.find(({ spec }) => !Object.hasOwn(WORKLOADS, spec.class));
  if (other)
    throw new Failure(
      `the runner ${other.spec.class} makes no workload of Kubernetes, so there is nothing to hand over in namespace ${namespace}`,
      { next: `cup app ${word}` },
    );
  if (await findActive(context, resource))
    throw new Failure(`a rollout of ${resource.name} is under way`, { next: `cup rollout status ${word}` });
}

async function requireNotPlaced(
  kube: KubeClient,
  { namespace, resource }: AppObjects,
  processes: readonly Process[],
): Promise<void> {
  const labelSelector = `${STABLE_LABELS.app}=${resource.guid}`;
  const { items } = await kube.list(PlacementDecision, { namespace, labelSelector });
  const refusal = judgePlaced(resource.name, processes, items);
  if (refusal) throw refusal;
}

/** A process with a PlacementDecision cannot be detached: its LRPs may be on several clusters. Pure. */
export function judgePlaced(
  app: string,
  processes: readonly Process[],
  decisions: readonly PlacementDecision[],
): Failure | undefined {
  // A decision has the name of its Process.
  const names = new Set(processes.map(({ metadata }) => metadata.name));
  const placed = decisions.find(({ metadata }) => names.has(metadata.name));
  if (!placed) return undefined;
  const { processType, segment } = placed.spec;
  return new Failure(
    `process ${processType} of ${app} is placed on clusters by isolation segment ${segment}, and such a process cannot be handed over`,
    {
      next: `cup placement explain ${quoteForShell(app)} says where it runs; an app that is started in a space whose segment has no placement can be detached`,
    },
  );
}

function processesOf(lrps: readonly LRP[], { processes }: AppObjects): Process[] {
  const types = new Set(lrps.map(({ spec }) => spec.processType));
  return processes.filter(({ spec }) => types.has(spec.type));
}

function kindOf({ spec }: LRP): string {
  return WORKLOADS[spec.class]?.plural ?? "";
}

/** The object, and how it gets rid of the last thing that it needs of Cupola. */
function describeHandOver({ metadata, spec }: LRP, namespace: string): string[] {
  const kind = WORKLOADS[spec.class]?.kind ?? "";
  const lines = [`${kind} ${metadata.name}, process ${spec.processType}`];
  if (spec.class !== "deployment") return lines;
  return [
    ...lines,
    `  New pods still wait for Cupola to open the scheduling gate ${INDEX_GATE}. This ends that by one rolling restart, and instances have no index then:`,
    `  kubectl patch deployment ${metadata.name} -n ${namespace} --type json -p '[{"op":"remove","path":"/spec/template/spec/schedulingGates"}]'`,
  ];
}

export async function attach(kube: KubeClient, context: Context, name: string): Promise<Result> {
  const app = await readApp(kube, context, name);
  const detached = app.processes.filter(({ spec }) => spec.detached);
  if (detached.length === 0) throw new Failure(`${name} is not detached`, { next: `cup app ${quoteForShell(name)}` });
  const lrps = app.lrps.filter(({ spec }) => spec.detached);
  const forecasts = await Promise.all(lrps.map((lrp) => forecast(kube, lrp, app)));
  for (const line of forecasts.map(({ text }) => text)) context.progress.step(line);
  for (const process of detached) await setDetached(kube, process, false);
  for (const process of detached)
    await waitFor(kube, process, ({ reason }) => reason !== "Detached" && reason !== "Attaching");
  return {
    json: {
      app: name,
      namespace: app.namespace,
      attached: forecasts.map(({ lrp, replaces }) => ({ name: lrp, replaces })),
    },
    text: [`${name} is Cupola's again.`],
  };
}

interface Forecast {
  lrp: string;
  /** Whether pods are replaced; null where that cannot be seen. */
  replaces: boolean | null;
  text: string;
}

/** Whether pods are replaced: the API server answers what the runner's write would make of the template. */
async function forecast(kube: KubeClient, lrp: LRP, { processes }: AppObjects): Promise<Forecast> {
  const { name } = lrp.metadata;
  const process = processes.find(({ spec }) => spec.type === lrp.spec.processType);
  const toForecast = (replaces: boolean | null, what: string): Forecast => ({
    lrp: name,
    replaces,
    text: `${name}: ${what}`,
  });
  const ref = WORKLOADS[lrp.spec.class];
  const rendering = renderLRP(lrp);
  const draft = "objects" in rendering ? rendering.objects[0] : undefined;
  if (!ref || !draft || !process) return toForecast(null, "whether pods are replaced cannot be seen");
  try {
    const live = await kube.find(ref, { namespace: lrp.metadata.namespace ?? "", name });
    if (!live) return toForecast(true, "its workload is gone, so new pods start");
    const after = await kube.apply(ref, draft, { fieldManager: "cup", force: true, dryRun: true });
    return isDeepStrictEqual(templateOf(after), templateOf(live))
      ? toForecast(false, "no pod is replaced; the number of instances is that of the process")
      : toForecast(true, "its template was changed, so its pods are replaced one after the other");
  } catch (error) {
    if (isForbidden(error))
      return toForecast(null, "whether pods are replaced cannot be seen without the right to patch it");
    throw error;
  }
}

function templateOf(object: KubeObject): unknown {
  return (object["spec"] as { template?: unknown } | undefined)?.template;
}

async function setDetached(kube: KubeClient, { metadata }: Process, detached: boolean): Promise<void> {
  await kube.patch(Process, metadata, { type: "merge", body: { spec: { detached: detached ? true : null } } });
}

/** @throws Failure when the controllers have not done it in time */
async function waitFor(kube: KubeClient, { metadata }: Process, isDone: (ready: Condition) => boolean): Promise<void> {
  const { done, ready } = await awaitReady(() => kube.get(Process, metadata), { deadlineMs: DONE_MS, isDone });
  if (done) return;
  throw new Failure(`${metadata.name}: ${ready?.message ?? "the controllers have not answered"}`, {
    next: `kubectl describe cfprocess ${metadata.name} -n ${metadata.namespace ?? ""}`,
  });
}
