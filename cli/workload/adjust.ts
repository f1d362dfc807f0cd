// `cup adjust`: writes the patch of a process as an Adjustment, and judges it first.
import { Adjustment } from "../../crds/adjustment/adjustment.ts";
import { allowedFields, appliesAdjustments } from "../../crds/adjustment/adjustable.ts";
import { judgePatch } from "../../crds/adjustment/judge.ts";
import type { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { findClass, isClassProblem } from "../../crds/backend-class/find-class.ts";
import type { Process } from "../../crds/process/process.ts";
import type { Condition } from "../../kube/api/object.ts";
import { apiVersionOf } from "../../kube/api/resource-ref.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import type { Result } from "../output.ts";
import { parseDocuments, readText } from "../policy/documents.ts";
import { startDeployment, waitForDeployment } from "../rollout/deployment.ts";
import { quoteForShell } from "../shell-words.ts";
import { awaitReady } from "./await-ready.ts";
import { getProcess, readApp, type AppObjects } from "./read-app.ts";

export interface AdjustOptions {
  file?: string;
  process: string;
  remove?: boolean;
  now?: boolean;
}

/** How long the controllers may take to judge an Adjustment. */
const JUDGED_MS = 10_000;

export async function adjust(
  kube: KubeClient,
  context: Context,
  { name, options }: { name: string; options: AdjustOptions },
): Promise<Result> {
  const { file, remove = false } = options;
  if ((file === undefined) === !remove)
    throw new Failure("name the patch by -f, or give --remove", { kind: "usage", next: "cup help adjust" });
  const patch = file === undefined ? undefined : readPatch(file);
  const app = await readApp(kube, context, name);
  const process = getProcess(app, options.process);
  if (patch === undefined) return removeAdjustment(kube, context, { app, process, options });
  judge(patch, getRunner(process, app.classes), name);
  await kube.apply(Adjustment, toAdjustment(process, patch), { fieldManager: "cup", force: true });
  const { ready } = await awaitReady(() => kube.find(Adjustment, process.metadata), { deadlineMs: JUDGED_MS });
  return finish(context, app, { options, done: `The patch of ${process.metadata.name} is stored`, ready });
}

function readPatch(file: string): Record<string, unknown> {
  const [document, ...more] = parseDocuments(readText(file), file);
  if (document && more.length === 0) return document.value;
  throw new Failure(`${file} must hold one patch: a map with metadata and spec, as of a pod template`, {
    kind: "usage",
    next: "cup help adjust",
  });
}

function getRunner({ spec }: Process, classes: readonly BackendClass[]): BackendClass {
  const found = findClass(classes, { role: "runner", className: spec.runner });
  if (isClassProblem(found)) throw new Failure(found.message);
  return found;
}

/** Says all that would be left out before anything is written. @throws Failure */
function judge(patch: unknown, backend: BackendClass, name: string): void {
  if (!appliesAdjustments(backend))
    throw new Failure(`the runner ${backend.metadata.name} makes no pods, so there is nothing to adjust`, {
      next: `cup app ${quoteForShell(name)}`,
    });
  const { refused } = judgePatch(patch, allowedFields(backend));
  if (refused.length === 0) return;
  throw new Failure(refused.map(({ path, message }) => `${path}: ${message}`).join("\n"), {
    kind: "usage",
    next: "remove these fields from the patch; docs/operate/workloads.md lists what can be adjusted",
  });
}

function toAdjustment({ metadata: { name, namespace } }: Process, patch: unknown) {
  return {
    apiVersion: apiVersionOf(Adjustment),
    kind: Adjustment.kind,
    metadata: { name, namespace },
    spec: { processRef: { name }, patch },
  };
}

async function removeAdjustment(
  kube: KubeClient,
  context: Context,
  { app, process, options }: { app: AppObjects; process: Process; options: AdjustOptions },
): Promise<Result> {
  const { name, namespace } = process.metadata;
  const found = app.adjustments.find(({ metadata }) => metadata.name === name);
  if (!found) {
    const text = [`${name} has no patch of cup adjust.`];
    return { json: { removed: false }, text };
  }
  await kube.delete(Adjustment, { namespace: namespace ?? "", name });
  return finish(context, app, { options, done: `The patch of ${name} is removed`, ready: undefined });
}

async function finish(
  context: Context,
  { resource }: AppObjects,
  { options, done, ready }: { options: AdjustOptions; done: string; ready: Condition | undefined },
): Promise<Result> {
  const word = quoteForShell(resource.name);
  const json = { app: resource.name, process: options.process, ready };
  if (ready?.status === "False" && ready.reason !== "Pending")
    throw new Failure(`${done}, and it is not in force: ${ready.message}`, { next: `cup workload ${word}` });
  if (resource["state"] !== "STARTED")
    return { json, text: [`${done}; it acts at the next start of ${resource.name}.`] };
  if (!options.now)
    return {
      json,
      text: [`${done}; it acts at the next start.`, `Next: cup rollout start ${word}, or cup restart ${word}`],
    };
  context.progress.step(`${done}; replacing the instances`);
  const { guid } = await startDeployment(context, resource, { options: {} });
  await waitForDeployment(context, resource, guid);
  return { json, text: [`${done}, and the instances of ${resource.name} follow it.`] };
}
