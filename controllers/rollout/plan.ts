// The status of a Rollout: how far it is, and when it is over. Pure.
import { cutDetails } from "../../crds/details.ts";
import type { App } from "../../crds/app/app.ts";
import type { RunningLRP } from "../../crds/placement-decision/merged-lrps.ts";
import { defaultInstances } from "../../crds/process/defaults.ts";
import type { Process } from "../../crds/process/process.ts";
import type { Revision } from "../../crds/revision/revision.ts";
import type { Rollout } from "../../crds/rollout/rollout.ts";
import { currentStep, effectiveState, isEnded, isFinishing, ownState, sortRollouts } from "../../crds/rollout/rules.ts";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import { mergeDiffNamed } from "../../kube/api/merge-diff.ts";
import type { ReadyDraft } from "../../kube/controller/controller.ts";
import { countInstances, isReached, isRestored } from "../shared/rollout-counts.ts";
import {
  findLRPOf,
  findRevision,
  findRolloutRevision,
  findRolloutVersions,
  findRunningRevision,
  planAdoptedSpec,
  planRolloutStep,
  type AppHistory,
  type RolloutStep,
  type RolloutVersions,
} from "../shared/rollouts.ts";

type Status = NonNullable<Rollout["status"]>;
type RolloutStatus = Omit<Status, "conditions" | "observedGeneration">;
type Outcome = Pick<Status, "state"> & Partial<Pick<Status, "finalRevision" | "pausedStep" | "superseded">>;

/** All that a Rollout's state follows from. `lrps`: those of the web process. */
export interface RolloutInput {
  rollout: Rollout;
  app: App;
  processes: readonly Process[];
  lrps: readonly RunningLRP[];
  history: AppHistory;
}

/** The state after this reconcile, with what it settles. */
export function planOutcome(input: RolloutInput): Outcome {
  const { rollout, app, history, lrps } = input;
  const newest = sortRollouts(history.rollouts)[0];
  const { state, superseded } = effectiveState(rollout, newest);
  if (superseded) return { state, superseded };
  if (isEnded(rollout) || rollout.spec.startsApp) return { state };
  if (rollout.status?.finalRevision !== undefined) return planEnd(input, rollout.status.finalRevision);
  if (isReplacedByRestart(rollout, app, history)) return { state: state === "Canceling" ? "Canceled" : "Deployed" };
  const versions = findRolloutVersions(app, history, lrps);
  const web = input.processes.find(({ spec }) => spec.type === "web");
  if (!versions || !web) return { state };
  return planProgress(input, versions, planRolloutStep(versions, history, { lrps, wanted: countWanted(web) }));
}

/** A restart of the app has replaced all instances meanwhile. */
function isReplacedByRestart(rollout: Rollout, app: App, history: AppHistory): boolean {
  const made = findRolloutRevision(rollout, history.revisions);
  const running = findRunningRevision(app, history);
  return made !== undefined && running !== undefined && running.spec.version >= made.spec.version;
}

function countWanted({ spec }: Process): number {
  return spec.instances ?? defaultInstances(spec.type);
}

function planProgress(input: RolloutInput, { rollout, target }: RolloutVersions, step: RolloutStep): Outcome {
  const state = ownState(rollout);
  if (!target) return { state };
  const finalRevision = target.metadata.name;
  if (state === "Canceling") return isBack(input, target, step) ? { state, finalRevision } : { state };
  if (state === "Paused" || !isReached(step.target, step.goal)) return { state };
  if (state === "Prepaused") return { state: "Paused", pausedStep: currentStep(rollout) };
  return isAdopted(input) ? { state: "Finishing", finalRevision } : { state: "Finishing" };
}

/** Whether a cancellation has brought the former version and the app's former droplet back. */
function isBack({ rollout, app }: RolloutInput, target: Revision, step: RolloutStep): boolean {
  const former = rollout.spec.previousDroplet?.name ?? target.spec.dropletRef.name;
  return app.spec.droplet?.name === former && isRestored(step.target, step.others, step.goal);
}

/** Whether the app's processes have the sizes and commands that the Rollout brought. */
function isAdopted({ rollout, processes, history }: RolloutInput): boolean {
  return processes.every(
    (process) => mergeDiffNamed(process.spec, planAdoptedSpec(process, rollout, history.revisions)) === undefined,
  );
}

/** It ends when App and web Process name the final Revision: from then on all clients see one web process. */
function planEnd(input: RolloutInput, finalRevision: string): Outcome {
  const isOver = isNamed(input, finalRevision) || isLeft(input, finalRevision);
  if (isFinishing(input.rollout)) return { state: isOver ? "Deployed" : "Finishing", finalRevision };
  return { state: isOver ? "Canceled" : "Canceling", finalRevision };
}

function isNamed({ app, processes, lrps, history }: RolloutInput, revision: string): boolean {
  const web = processes.find(({ spec }) => spec.type === "web");
  const lrp = findLRPOf(findRevision(revision, history.revisions), lrps);
  return app.status?.revision === revision && (!lrp || web?.status?.lrp === lrp.metadata.name);
}

/** Whether the app is stopped, or a later start has made a newer Revision. */
function isLeft({ app, history: { revisions } }: RolloutInput, revision: string): boolean {
  if (app.status?.revision === undefined) return true;
  const [current, final] = [app.status.revision, revision].map((name) => findRevision(name, revisions)?.spec.version);
  return (current ?? 0) > (final ?? 0);
}

/** The status; fields that are undefined are removed. */
export function planRolloutStatus(input: RolloutInput, now: Date): RolloutStatus {
  const before = input.rollout.status ?? {};
  const outcome = planOutcome(input);
  const lrp = findLRPOf(findRolloutRevision(input.rollout, input.history.revisions), input.lrps);
  const isOver = outcome.state === "Deployed" || outcome.state === "Canceled";
  const settled = { ...omitUndefined(before), ...omitUndefined(outcome) };
  return {
    state: outcome.state,
    stateTime: outcome.state === before.state ? before.stateTime : now.toISOString(),
    superseded: settled.superseded,
    revision: findRevisionName(input),
    finalRevision: settled.finalRevision,
    pausedStep: settled.pausedStep,
    lastHealthyTime: findLastHealthy(lrp) ?? before.lastHealthyTime,
    error: isOver ? undefined : findProblem(lrp),
    web: isOver || settled.finalRevision !== undefined ? undefined : presentVersions(input),
  };
}

function findRevisionName({ rollout, app, history }: RolloutInput): string | undefined {
  const made = findRolloutRevision(rollout, history.revisions)?.metadata.name ?? rollout.status?.revision;
  return made ?? (rollout.spec.startsApp ? app.status?.revision : undefined);
}

/** When the newest of the instances that take requests became ready. */
function findLastHealthy(lrp: RunningLRP | undefined): string | undefined {
  const times = (lrp?.status?.instances ?? []).flatMap(({ state, ready, since }) =>
    state === "Running" && ready && since !== undefined ? [since] : [],
  );
  return times.toSorted((a, b) => Date.parse(b) - Date.parse(a))[0];
}

function findProblem(lrp: RunningLRP | undefined): string | undefined {
  const failed = lrp?.status?.instances?.find(({ state }) => state === "Crashed" || state === "Down");
  return failed && cutDetails(`instance ${failed.index} of the new version: ${failed.details ?? failed.state}`);
}

/** An entry for each version that has an LRP, and one for the version to come. */
function presentVersions({ rollout, app, history, lrps, processes }: RolloutInput): Status["web"] {
  const versions = findRolloutVersions(app, history, lrps);
  const web = processes.find(({ spec }) => spec.type === "web");
  if (!versions || !web) return rollout.status?.web;
  const step = planRolloutStep(versions, history, { lrps, wanted: countWanted(web) });
  const growing = findLRPOf(versions.target, lrps);
  const all = [...step.rest, ...(growing ? [{ lrp: growing, instances: step.next }] : [])];
  return all
    .map(({ lrp, instances }) => ({
      lrp: lrp.metadata.name,
      guid: lrp.spec.processGUID,
      revision: lrp.spec.revision,
      instances,
      running: countInstances(lrp).routable.size,
    }))
    .toSorted((a, b) => Number(a.revision) - Number(b.revision));
}

/** Obstacle that keeps a Rollout from going on. */
interface Obstacles {
  /** A missing object that it names. */
  missing?: string | undefined;
  /** Why the release command of its version failed. */
  failure?: string | undefined;
  /** Why operator policy holds its version back. */
  held?: ReadyDraft | undefined;
}

function toObstacle({ missing, held }: Obstacles): ReadyDraft | undefined {
  return missing === undefined ? held : { status: "False", reason: "Missing", message: missing, isFailure: true };
}

/** Ready is True once the new version runs alone. */
export function planRolloutReady(
  { rollout, app }: RolloutInput,
  { state, error, superseded }: RolloutStatus,
  { missing, failure, held }: Obstacles,
): ReadyDraft {
  if (superseded)
    return { status: "False", reason: "Superseded", message: "a newer Rollout of the app ended this one" };
  if (state === "Deployed") return { status: "True", reason: "Deployed", message: "the new version runs" };
  if (failure !== undefined) return { status: "False", reason: "ReleaseFailed", message: failure, isFailure: true };
  if (state === "Canceled") return { status: "False", reason: "Canceled", message: "the former version runs" };
  const obstacle = toObstacle({ missing, held });
  if (obstacle) return obstacle;
  if (app.spec.state === "Stopped")
    return { status: "False", reason: "AppStopped", message: `app ${app.metadata.name} is stopped: start it` };
  if (error !== undefined) return { status: "False", reason: "Crashed", message: error, isFailure: true };
  if (state === "Paused")
    return {
      status: "False",
      reason: "Paused",
      message: `step ${currentStep(rollout)} is reached: set spec.continuedSteps to ${currentStep(rollout)} to continue, or spec.cancelled to true`,
    };
  return { status: "False", reason: state ?? "Deploying", message: "instances are being replaced" };
}
