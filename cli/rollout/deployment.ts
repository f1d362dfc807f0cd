// Deployments as the API tells of them: starting one, finding the one under way, and waiting with live progress.
import { setTimeout as delay } from "node:timers/promises";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import type { Json, Resource } from "../api/client.ts";
import { ratio, readProcesses, type ProcessState } from "../app/process-state.ts";
import type { Context } from "../context.ts";
import { withQuotaAdvice, type Asked } from "../quota/with-quota-advice.ts";
import { quoteForShell } from "../shell-words.ts";
import { Failure } from "../failure.ts";

export interface Deployment extends Json {
  guid: string;
  strategy: string;
  status: {
    value: string;
    reason: string;
    details: { error?: string };
    canary?: { steps: { current: number; total: number } };
  };
  revision: { version: number } | null;
  new_processes: { guid: string }[];
}

export interface DeployOptions {
  strategy?: "rolling" | "canary";
  maxInFlight?: number;
  /** Percentages. */
  steps?: number[];
}

const DEADLINE_MS = 15 * 60_000;
/** A version that crashes for so long is reported; its instances are started again meanwhile. */
const CRASHING_MS = 20_000;

/** `source`: a droplet or a revision, else the app's droplet. */
export async function startDeployment(
  context: Context,
  app: Resource,
  { source = {}, options }: { source?: Json; options: DeployOptions },
): Promise<Deployment> {
  const strategy = options.strategy ?? "rolling";
  if (options.steps && strategy !== "canary")
    throw new Failure("steps are for --strategy canary only", { kind: "usage", next: "cup help rollout start" });
  const steps = options.steps?.map((weight) => ({ instance_weight: weight }));
  const settings = omitUndefined({ max_in_flight: options.maxInFlight, canary: steps && { steps } });
  const body = { strategy, ...source, options: settings, relationships: { app: { data: { guid: app.guid } } } };
  return withQuotaAdvice(context, toAsked(app), () =>
    context.api.request<Deployment>("POST", "/v3/deployments", { body }),
  );
}

/** The new instances must fit beside those that run: smaller ones of the same app help. */
function toAsked({ name, ...app }: Resource): Asked {
  const word = quoteForShell(name);
  if (app["state"] !== "STARTED") return { app: name, command: `cup scale ${word}` };
  const next = `make room for one more instance (cup scale ${word} -m SIZE), or do without a rollout, which stops the app for a moment: cup push ${word}`;
  return { app: name, command: `cup scale ${word}`, isExtra: true, next };
}

/** The deployment under way, if any. */
export async function findActive({ api }: Context, app: Resource): Promise<Deployment | undefined> {
  const query = { app_guids: app.guid, status_values: "ACTIVE", order_by: "-created_at" };
  return (await api.list<Deployment>("/v3/deployments", query))[0];
}

/** @throws Failure when none is under way */
export async function getActive(context: Context, app: Resource): Promise<Deployment> {
  const found = await findActive(context, app);
  if (!found) throw new Failure(`${app.name} has no rollout under way`, { next: `cup rollout start ${app.name}` });
  return found;
}

/** Waits until it is over or paused, and shows each change. @throws Failure when it was canceled or superseded, crashes, or at the deadline */
export async function waitForDeployment(context: Context, app: Resource, guid: string): Promise<Deployment> {
  const deadline = Date.now() + DEADLINE_MS;
  let shown = "";
  let healthy = Date.now();
  for (let pause = 100; ; pause = Math.min(pause * 1.5, 1000)) {
    const deployment = await read(context, guid);
    const progress = describe(deployment, await readProcesses(context, app));
    if (progress !== shown) context.progress.step(progress);
    if (progress !== shown) pause = 100;
    shown = progress;
    const { value, reason, details } = deployment.status;
    if (value === "FINALIZED") return checkEnd(deployment, app);
    if (reason === "PAUSED") return deployment;
    if (details.error === undefined) healthy = Date.now();
    if (Date.now() - healthy > CRASHING_MS) throw crashing(app, details.error);
    if (Date.now() > deadline)
      throw new Failure(`the rollout has not ended in ${DEADLINE_MS / 60_000} minutes (${shown})`, {
        next: `cup rollout status ${app.name}`,
      });
    await delay(pause);
  }
}

/** From the list: a single one is held by the API until it ends. */
async function read({ api }: Context, guid: string): Promise<Deployment> {
  const [found] = await api.list<Deployment>("/v3/deployments", { guids: guid });
  if (!found) throw new Failure("the deployment does not exist any more", { next: "cup apps" });
  return found;
}

function checkEnd(deployment: Deployment, app: Resource): Deployment {
  const { reason } = deployment.status;
  if (reason === "SUPERSEDED")
    throw new Failure("a newer rollout has ended this one", { next: `cup rollout status ${app.name}` });
  return deployment;
}

function crashing(app: Resource, error = "the new version crashes"): Failure {
  const [why] = error.split("; ");
  return new Failure(`${why}; the old version still runs`, {
    next: `cup logs ${app.name} --recent, then cup rollout cancel ${app.name}`,
  });
}

/** A line: how far it is. Pure. */
export function describe({ status }: Deployment, processes: readonly ProcessState[]): string {
  const [old, ...others] = processes.filter(({ process }) => process.type === "web");
  const newest = others.at(-1);
  const counts = newest && old ? `: old ${ratio(old)}, new ${ratio(newest)}` : old ? `: ${ratio(old)}` : "";
  const step = status.canary ? ` (step ${status.canary.steps.current} of ${status.canary.steps.total})` : "";
  return `${status.reason.toLowerCase()}${step}${counts}`;
}

/** The last lines of a command: what is so now, and what comes next. Pure. */
export function tellEnd({ status, revision }: Deployment, name: string, url?: string): string[] {
  const version = revision ? ` revision ${revision.version}` : " the new version";
  if (status.reason === "PAUSED")
    return [
      `${name} is paused at step ${status.canary?.steps.current ?? 1} of ${status.canary?.steps.total ?? 1}.`,
      `Next: cup rollout continue ${name}, or cup rollout cancel ${name}`,
    ];
  if (status.reason === "CANCELED") return [`${name} runs the version from before.`];
  return [`${name} runs${version}${url ? `: ${url}` : "."}`];
}
