// The status of a Rollout: how far it is, and when it is over. Pure.
import { cutDetails } from "../../crds/details.ts";
import type { StagedRollout } from "../../crds/isolation-segment/isolation-segment.ts";
import type { App } from "../../crds/app/app.ts";
import type { RunningLRP } from "../../crds/placement-decision/merged-lrps.ts";
import type { Assignment, PlacedLRP } from "../../crds/placement-decision/placement-decision.ts";
import { defaultInstances } from "../../crds/process/defaults.ts";
import type { Process } from "../../crds/process/process.ts";
import type { Revision } from "../../crds/revision/revision.ts";
import type { Rollout } from "../../crds/rollout/rollout.ts";
import {
  currentStep,
  effectiveState,
  isEnded,
  isFinishing,
  isStagePaused,
  ownState,
  sortRollouts,
} from "../../crds/rollout/rules.ts";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import { mergeDiffNamed } from "../../kube/api/merge-diff.ts";
import type { ReadyDraft } from "../../kube/controller/controller.ts";
import { countInstances, isReached, isRestored } from "../shared/rollout-counts.ts";
import { planStageSteps } from "../shared/rollout-stages.ts";
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
import { chooseStages, describeStage, planStageProgress, type StageFields, type StageProgress } from "./stages.ts";

type Status = NonNullable<Rollout["status"]>;
type RolloutStatus = Omit<Status, "conditions" | "observedGeneration">;
type Outcome = Pick<Status, "state"> & Partial<Pick<Status, "finalRevision" | "pausedStep" | "superseded">>;

/** Where the process runs, for one that is placed on clusters. */
export interface RolloutPlacement {
  assignments: readonly Assignment[];
  placed: readonly PlacedLRP[];
  /** Clusters that do not answer. */
  silent: ReadonlySet<string>;
  /** Rules of the segment, where it has stages. */
  rules: StagedRollout | undefined;
}

/** All that a Rollout's state follows from. `lrps`: those of the web process. */
export interface RolloutInput {
  rollout: Rollout;
  app: App;
  processes: readonly Process[];
  lrps: readonly RunningLRP[];
  placement?: RolloutPlacement | undefined;
  history: AppHistory;
}

type StagedOutcome = Outcome & { progress?: StageProgress };

/** The state after this reconcile, with what it settles. */
function planOutcome(input: RolloutInput, now: Date): StagedOutcome {
  const { rollout, history } = input;
  const newest = sortRollouts(history.rollouts)[0];
  const { state, superseded } = effectiveState(rollout, newest);
  if (superseded) return { state, superseded };
  if (isEnded(rollout) || rollout.spec.startsApp) return { state };
  if (rollout.status?.finalRevision !== undefined) return planEnd(input, rollout.status.finalRevision);
  return planOpen(input, state, now);
}

function planOpen(input: RolloutInput, state: Outcome["state"], now: Date): StagedOutcome {
  const { rollout, app, history, lrps, placement } = input;
  if (isReplacedByRestart(rollout, app, history)) return { state: state === "Canceling" ? "Canceled" : "Deployed" };
  const versions = findRolloutVersions(app, history, lrps);
  const web = input.processes.find(({ spec }) => spec.type === "web");
  if (!versions || !web) return { state };
  return placement
    ? planStaged({ ...input, placement }, { versions, web, now })
    : planProgress(input, versions, [planStepHere(input, versions, web)]);
}

function planStepHere({ history, lrps }: RolloutInput, versions: RolloutVersions, web: Process): RolloutStep {
  return planRolloutStep(versions, history, { lrps, wanted: countWanted(web) });
}

type PlacedRollout = RolloutInput & { placement: RolloutPlacement };

/** On clusters: the stages are chosen first, and it is over once the last one has passed. */
function planStaged(
  input: PlacedRollout,
  { versions, web, now }: { versions: RolloutVersions; web: Process; now: Date },
): StagedOutcome {
  const { rollout, placement } = input;
  const state = ownState(rollout);
  if (!rollout.status?.stages) {
    const fields = { ...chooseStages(placement.assignments, placement.rules), stage: 1 };
    return { state, progress: { fields, isPassed: false } };
  }
  const steps = planStageSteps(versions, input.history, toStagesInput(input, web));
  const isMoving = versions.target !== undefined && (state === "Deploying" || state === "Prepaused");
  const progress = planStageProgress({ rollout, steps, refused: findRefusal(web, versions), isMoving, now });
  if (!rollout.spec.cancelled && isStagePaused({ spec: rollout.spec, status: progress.fields }))
    return { state: "Paused", progress };
  // A step of a canary is reached without the soak of its last stage.
  if (state === "Deploying" && !progress.isPassed) return { state, progress };
  const planned = steps.map(({ step }) => step);
  return { ...planProgress(input, versions, planned), progress };
}

/** Why a cluster cannot start the version that is to run. */
function findRefusal({ status }: Process, { target }: RolloutVersions): string | undefined {
  const refused = status?.refused;
  return refused?.revision === String(target?.spec.version) ? refused?.message : undefined;
}

function toStagesInput({ placement, rollout }: PlacedRollout, web: Process): Parameters<typeof planStageSteps>[2] {
  const { assignments, placed, silent } = placement;
  return { namespace: rollout.metadata.namespace, placed, assignments, silent, wanted: countWanted(web) };
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

function planProgress(
  input: RolloutInput,
  { rollout, target }: RolloutVersions,
  steps: readonly RolloutStep[],
): Outcome {
  const state = ownState(rollout);
  if (!target) return { state };
  const finalRevision = target.metadata.name;
  if (state === "Canceling") return isBack(input, target, steps) ? { state, finalRevision } : { state };
  if (state === "Paused" || !steps.every((step) => isReached(step.target, step.goal))) return { state };
  if (state === "Prepaused") return { state: "Paused", pausedStep: currentStep(rollout) };
  return isAdopted(input) ? { state: "Finishing", finalRevision } : { state: "Finishing" };
}

/** Whether a cancellation has brought the former version and the app's former droplet back. */
function isBack({ rollout, app }: RolloutInput, target: Revision, steps: readonly RolloutStep[]): boolean {
  const former = rollout.spec.previousDroplet?.name ?? target.spec.dropletRef.name;
  return app.spec.droplet?.name === former && steps.every((step) => isRestored(step.target, step.others, step.goal));
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

/** The status, whose fields that are undefined are removed, and the progress of its stages on clusters. */
export function planRolloutStatus(
  input: RolloutInput,
  now: Date,
): { status: RolloutStatus; progress: StageProgress | undefined } {
  const before = input.rollout.status ?? {};
  const { progress, ...outcome } = planOutcome(input, now);
  const stages = keepStages(outcome.state, progress?.fields ?? toStageFields(before));
  const lrp = findLRPOf(findRolloutRevision(input.rollout, input.history.revisions), input.lrps);
  const settled = { ...omitUndefined(before), ...omitUndefined(outcome) };
  const isOver = outcome.state === "Deployed" || outcome.state === "Canceled";
  const status = {
    state: outcome.state,
    stateTime: outcome.state === before.state ? before.stateTime : now.toISOString(),
    superseded: settled.superseded,
    revision: findRevisionName(input),
    finalRevision: settled.finalRevision,
    pausedStep: settled.pausedStep,
    ...NO_STAGES,
    ...stages,
    lastHealthyTime: findLastHealthy(lrp) ?? before.lastHealthyTime,
    ...(isOver ? NOTHING_RUNS : presentRunning(input, { lrp, stages, finalRevision: settled.finalRevision })),
  };
  return { status, progress };
}

const NOTHING_RUNS = { error: undefined, web: undefined };

/** Once its version is the app's, clients see one web process. */
function presentRunning(
  input: RolloutInput,
  {
    lrp,
    stages,
    finalRevision,
  }: { lrp: RunningLRP | undefined; stages: StageFields; finalRevision?: string | undefined },
): Pick<RolloutStatus, "error" | "web"> {
  return {
    error: stages.stageProblem ?? findProblem(lrp),
    web: finalRevision === undefined ? presentVersions(input) : undefined,
  };
}

const NO_STAGES = {
  stages: undefined,
  stageRules: undefined,
  stage: undefined,
  stageTime: undefined,
  stageReadyTime: undefined,
  stageLostTime: undefined,
  stagePauses: undefined,
  stageProblem: undefined,
};

function toStageFields({ stages, stageRules, stage, stagePauses, stageProblem }: RolloutStatus): StageFields {
  return { stages, stageRules, stage, stagePauses, stageProblem };
}

/** The problem of a stage is over once the rollout was cancelled. */
function keepStages(state: RolloutStatus["state"], fields: StageFields): StageFields {
  return state === "Canceling" || state === "Canceled" ? { ...fields, stageProblem: undefined } : fields;
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
function presentVersions(input: RolloutInput): Status["web"] {
  const { rollout, app, history, lrps, processes, placement } = input;
  const versions = findRolloutVersions(app, history, lrps);
  const web = processes.find(({ spec }) => spec.type === "web");
  if (!versions || !web) return rollout.status?.web;
  const counts = placement ? countPlaced(lrps) : countHere(planStepHere(input, versions, web), versions, lrps);
  return counts
    .map(({ lrp, instances }) => ({
      lrp: lrp.metadata.name,
      guid: lrp.spec.processGUID,
      revision: lrp.spec.revision,
      instances,
      running: countInstances(lrp).routable.size,
    }))
    .toSorted((a, b) => Number(a.revision) - Number(b.revision));
}

interface VersionCount {
  lrp: RunningLRP;
  instances: number;
}

function countHere(step: RolloutStep, { target }: RolloutVersions, lrps: readonly RunningLRP[]): VersionCount[] {
  const growing = findLRPOf(target, lrps);
  return [...step.rest, ...(growing ? [{ lrp: growing, instances: step.next }] : [])];
}

/** On clusters, as their LRPs say. */
function countPlaced(lrps: readonly RunningLRP[]): VersionCount[] {
  return lrps
    .filter(({ metadata }) => !metadata.deletionTimestamp)
    .map((lrp) => ({ lrp, instances: lrp.spec.instances }));
}

/** Obstacle that keeps a Rollout from going on. */
interface Obstacles {
  /** A missing object that it names. */
  missing?: string | undefined;
  /** Why the release command of its version failed. */
  failure?: string | undefined;
  /** Why operator policy holds its version back. */
  held?: ReadyDraft | undefined;
  /** Clusters of its stage that do not answer. */
  silent?: readonly string[] | undefined;
}

function toObstacle({ missing, held }: Obstacles): ReadyDraft | undefined {
  return missing === undefined ? held : { status: "False", reason: "Missing", message: missing, isFailure: true };
}

/** Ready is True once the new version runs alone. */
export function planRolloutReady(
  { rollout, app }: RolloutInput,
  status: RolloutStatus,
  { missing, failure, held, silent = [] }: Obstacles,
): ReadyDraft {
  const { state, superseded } = status;
  if (superseded)
    return { status: "False", reason: "Superseded", message: "a newer Rollout of the app ended this one" };
  if (state === "Deployed") return { status: "True", reason: "Deployed", message: "the new version runs" };
  if (failure !== undefined) return { status: "False", reason: "ReleaseFailed", message: failure, isFailure: true };
  if (state === "Canceled") return { status: "False", reason: "Canceled", message: "the former version runs" };
  const obstacle = toObstacle({ missing, held });
  if (obstacle) return obstacle;
  if (app.spec.state === "Stopped")
    return { status: "False", reason: "AppStopped", message: `app ${app.metadata.name} is stopped: start it` };
  return toHalted(rollout, status) ?? toMoving(rollout, status, silent);
}

/** A stage that has failed, or one that waits for an approval. */
function toHalted({ metadata, spec }: Rollout, status: RolloutStatus): ReadyDraft | undefined {
  const { stageProblem, stagePauses = 0, stage = 1 } = status;
  if (status.state === "Canceling" || !isStagePaused({ spec, status })) return undefined;
  const next = `cf continue-deployment ${spec.appRef.name}`;
  if (stageProblem !== undefined)
    return {
      status: "False",
      reason: "StageFailed",
      message: cutDetails(
        `${stageProblem}. Later stages keep the former version. ${next} tries again, cf cancel-deployment ${spec.appRef.name} returns to the former version`,
      ),
      isFailure: true,
    };
  const message = `stage ${stage - 1} is done, and ${describeStage(status)} waits for an approval: run ${next}, or set spec.continuedStages of Rollout ${metadata.name} to ${stagePauses}`;
  return { status: "False", reason: "Paused", message };
}

function toMoving(
  rollout: Rollout,
  { state, stages = [], stage, error }: RolloutStatus,
  silent: readonly string[],
): ReadyDraft {
  if (error !== undefined) return { status: "False", reason: "Crashed", message: error, isFailure: true };
  if (state === "Paused")
    return {
      status: "False",
      reason: "Paused",
      message: `step ${currentStep(rollout)} is reached: set spec.continuedSteps to ${currentStep(rollout)} to continue, or spec.cancelled to true`,
    };
  const where = stages.length > 1 ? ` in ${describeStage({ stages, stage })}` : "";
  const waiting =
    silent.length > 0 ? `; a cluster that does not answer is skipped after the deadline: ${silent.join(", ")}` : "";
  return { status: "False", reason: state ?? "Deploying", message: `instances are being replaced${where}${waiting}` };
}
