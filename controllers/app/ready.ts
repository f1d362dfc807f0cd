// Ready of an App: summarizes its processes and its last build. Pure.
import type { App } from "../../crds/app/app.ts";
import type { Build } from "../../crds/build/build.ts";
import type { Droplet } from "../../crds/droplet/droplet.ts";
import { creationSortKey } from "../../crds/guid.ts";
import { defaultInstances } from "../../crds/process/defaults.ts";
import type { Process } from "../../crds/process/process.ts";
import type { ReadyDraft } from "../../kube/controller/controller.ts";

export interface AppParts {
  processes: readonly Process[];
  builds: readonly Build[];
  /** The droplet that spec.droplet names, when it exists. */
  droplet: Droplet | undefined;
  /** Name of the current Revision. */
  revision: string | undefined;
  /** Whether the app has to start or restart, for which it needs a droplet. */
  isStartDue: boolean;
  /** Why operator policy or the release command keeps the app from starting. */
  startProblem?: ReadyDraft | undefined;
}

/** In order of precedence: a failed instance, a failed build, a missing requirement of a start, work in progress. */
export function planAppReady(app: App, parts: AppParts): ReadyDraft {
  const failedBuild = findFailedBuild(parts);
  if (app.spec.state === "Stopped") return failedBuild ?? toStoppedReady(parts.processes);
  return (
    parts.startProblem ??
    findProcessFailure(parts) ??
    failedBuild ??
    findStartProblem(app, parts) ??
    findProgress(parts) ??
    toRunningReady(parts.processes)
  );
}

/** The newest build, when it failed and the app has no newer droplet. */
function findFailedBuild({ builds, droplet }: AppParts): ReadyDraft | undefined {
  const build = findLastBuild(builds);
  if (build?.status?.state !== "Failed" || isNewer(droplet, build)) return undefined;
  const { code = "StagingError", message = "no reason given" } = build.status.error ?? {};
  return {
    status: "False",
    reason: "BuildFailed",
    message: `build ${build.metadata.name} failed: ${code}: ${message}; push again, or delete the Build to dismiss this`,
    isFailure: true,
  };
}

function findLastBuild(builds: readonly Build[]): Build | undefined {
  return builds.toSorted((a, b) => (creationSortKey(a) < creationSortKey(b) ? 1 : -1))[0];
}

function isNewer(droplet: Droplet | undefined, build: Build): boolean {
  return (droplet?.metadata.creationTimestamp ?? "") > (build.metadata.creationTimestamp ?? "");
}

function toStoppedReady(processes: readonly Process[]): ReadyDraft {
  const stopping = processes.filter(({ status }) => status?.lrp !== undefined || (status?.runningInstances ?? 0) > 0);
  if (stopping.length === 0) return { status: "True", reason: "Stopped", message: "the app is stopped" };
  return { status: "False", reason: "Stopping", message: `instances of ${listTypes(stopping)} are stopping` };
}

/** Why the app cannot start; running instances keep running. */
function findStartProblem(app: App, { builds, droplet, isStartDue }: AppParts): ReadyDraft | undefined {
  if (droplet || !isStartDue) return undefined;
  const named = app.spec.droplet?.name;
  // A Build's droplet has the Build's name.
  const build = named === undefined ? findLastBuild(builds) : builds.find(({ metadata }) => metadata.name === named);
  if (build && build.status?.state !== "Failed")
    return { status: "False", reason: "Staging", message: `build ${build.metadata.name} is under way` };
  if (named !== undefined)
    return {
      status: "False",
      reason: "DropletMissing",
      message: `droplet ${named} does not exist in this namespace; push the app, or name another in spec.droplet`,
      isFailure: true,
    };
  return {
    status: "False",
    reason: "NoDroplet",
    message: "the app should run but has no droplet: push it, or set spec.droplet",
    isFailure: true,
  };
}

/** Ready reasons of a process that is starting or stopping. */
const PROGRESS: ReadonlySet<string> = new Set(["Starting", "Stopping", "NoRevision"]);

function findProcessFailure({ processes, revision }: AppParts): ReadyDraft | undefined {
  for (const process of processes.filter(wantsInstances)) {
    const ready = readyOf(process);
    if (!ready || ready.status !== "False" || PROGRESS.has(ready.reason) || isOutdated(process, revision)) continue;
    return {
      status: "False",
      reason: ready.reason,
      message: `process ${process.spec.type}: ${ready.message}`,
      isFailure: true,
    };
  }
  return undefined;
}

/** Processes that do not run the current Revision yet. */
function findProgress({ processes, revision }: AppParts): ReadyDraft | undefined {
  const waiting = processes.filter(
    (process) => wantsInstances(process) && (!isUpToDate(process, revision) || readyOf(process)?.status !== "True"),
  );
  if (waiting.length === 0) return undefined;
  const explained = waiting.find((process) => isUpToDate(process, revision) && isExplained(process));
  return {
    status: "False",
    reason: "Starting",
    message: explained
      ? `process ${explained.spec.type}: ${readyOf(explained)?.message}`
      : `${listTypes(waiting)} starting: ${countInstances(processes)}`,
  };
}

/** Whether a starting process says more than its count. The count alone must not change the message: that would be a write more for each start. */
function isExplained(process: Process): boolean {
  const ready = readyOf(process);
  return ready?.reason === "Starting" && ready.message !== countInstances([process]);
}

function toRunningReady(processes: readonly Process[]): ReadyDraft {
  return { status: "True", reason: "Running", message: countInstances(processes) };
}

/** Whether the status is about the current spec and this Revision. */
function isUpToDate({ metadata, status }: Process, revision: string | undefined): boolean {
  return status?.observedGeneration === metadata.generation && status?.revision === revision;
}

/** Whether the status is about an earlier Revision. */
function isOutdated({ status }: Process, revision: string | undefined): boolean {
  return status?.revision !== undefined && status.revision !== revision;
}

function wantsInstances(process: Process): boolean {
  return countWanted(process) > 0;
}

function countWanted({ spec }: Process): number {
  return spec.instances ?? defaultInstances(spec.type);
}

function countInstances(processes: readonly Process[]): string {
  const running = processes.reduce((sum, { status }) => sum + (status?.runningInstances ?? 0), 0);
  return `${running} of ${processes.reduce((sum, process) => sum + countWanted(process), 0)} instances run`;
}

function listTypes(processes: readonly Process[]): string {
  return processes
    .map(({ spec }) => spec.type)
    .toSorted()
    .join(", ");
}

function readyOf({ status }: Process): { status: string; reason: string; message: string } | undefined {
  return status?.conditions?.find(({ type }) => type === "Ready");
}
