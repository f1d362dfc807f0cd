// The stages of a Rollout between clusters: which clusters each has, when the next one begins, and when it halts. Pure.
import { cutDetails } from "../../crds/details.ts";
import type { StagedRollout } from "../../crds/isolation-segment/isolation-segment.ts";
import type { Assignment } from "../../crds/placement-decision/placement-decision.ts";
import type { Rollout } from "../../crds/rollout/rollout.ts";
import { isStagePaused } from "../../crds/rollout/rules.ts";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import { isReached } from "../shared/rollout-counts.ts";
import { listStaying, type StageStep } from "../shared/rollout-stages.ts";

type Status = NonNullable<Rollout["status"]>;
/** Fields of the status; one that is undefined is removed. */
export type StageFields = Pick<
  Status,
  "stages" | "stageRules" | "stage" | "stageTime" | "stageReadyTime" | "stageLostTime" | "stagePauses" | "stageProblem"
>;

/** Where the segment has no stages a cluster that does not answer is skipped after this time. */
const NO_RULES = { soakSeconds: 0, deadlineSeconds: 600 };

/** The stages of a new Rollout, by the number of clusters that each one ends with. */
export function chooseStages(
  assignments: readonly Assignment[],
  rules: StagedRollout | undefined,
): Pick<StageFields, "stages" | "stageRules"> {
  const names = listStaying(assignments).toSorted();
  if (!rules) return { stages: [names] };
  const ends = rules.stages.map(({ clusters, percent = 100 }) => clusters ?? Math.ceil((names.length * percent) / 100));
  let from = 0;
  const stages = [...ends, names.length].flatMap((end) => {
    const some = names.slice(from, end);
    from = Math.max(from, end);
    return some.length > 0 ? [some] : [];
  });
  const { soakSeconds, deadlineSeconds, maxFailures, approval } = rules;
  return { stages, stageRules: { soakSeconds, deadlineSeconds, maxFailures, approval } };
}

export interface StageProgressInput {
  rollout: Rollout;
  steps: readonly StageStep[];
  /** Why a cluster cannot start the version. */
  refused: string | undefined;
  /** Whether instances are being replaced: nothing counts while it is paused. */
  isMoving: boolean;
  now: Date;
}

export interface StageProgress {
  fields: StageFields;
  /** Whether all stages have the new version. */
  isPassed: boolean;
  /** Clusters of the stage that do not answer. */
  silent?: readonly string[];
  /** Until a soak or a deadline ends. */
  requeueAfterMs?: number;
}

/** The stage after this reconcile. */
export function planStageProgress(input: StageProgressInput): StageProgress {
  const { rollout, steps, refused, isMoving, now } = input;
  const { stages, stageRules, stage, stageTime, stagePauses, stageProblem } = toState(rollout);
  const kept = { stages, stageRules, stage, stagePauses };
  // The times begin anew when it goes on.
  if (!isMoving || isStagePaused(rollout)) return { fields: { ...kept, stageProblem }, isPassed: false };
  const current = steps[stage - 1];
  if (refused !== undefined) return halt(rollout, { number: stage, clusters: current?.clusters }, refused);
  if (!current || stageTime === undefined)
    return { fields: { ...kept, stageTime: now.toISOString() }, isPassed: false };
  const gate = judgeGate(rollout, { current, begun: steps.slice(0, stage) }, now);
  if (gate.late) return halt(rollout, gate.late, gate.late.problem);
  if (gate.isOpen) return pass(rollout, current, now);
  const { stageReadyTime, stageLostTime, requeueAfterMs } = gate;
  const { silent } = current;
  return {
    fields: { ...kept, stageTime, stageReadyTime, stageLostTime },
    isPassed: false,
    silent,
    ...omitUndefined({ requeueAfterMs }),
  };
}

function toState({ status }: Rollout): Status & Required<Pick<Status, "stage" | "stages">> {
  return { ...status, stage: status?.stage ?? 1, stages: status?.stages ?? [] };
}

interface StageName {
  /** From 1. */
  number: number;
  clusters: readonly string[] | undefined;
}

interface Gate {
  isOpen: boolean;
  stageReadyTime?: string;
  stageLostTime?: string;
  /** The first stage that was not ready in time. */
  late?: StageName & { problem: string };
  requeueAfterMs?: number;
}

const CLOSED: Gate = { isOpen: false };

interface BegunStages {
  current: StageStep;
  /** Up to the current one. */
  begun: readonly StageStep[];
}

/**
 * The gate after the current stage. Instances of an earlier stage that stop taking requests close it, too. A canary's step may replace a part of a stage: its
 * time has not come. A stage whose clusters were all left needs none.
 */
function judgeGate(rollout: Rollout, { current, begun }: BegunStages, now: Date): Gate {
  const { silent, step } = current;
  if (step.goal.limit < step.goal.total) return CLOSED;
  const { stageRules, stageTime, stageReadyTime } = toState(rollout);
  const { soakSeconds, deadlineSeconds } = stageRules ?? NO_RULES;
  const at = begun.findIndex(({ step: { target, goal } }) => !isReached(target, goal));
  const unready = begun[at];
  if (unready) return stageRules ? judgeUnready(rollout, { unready, number: at + 1, rules: stageRules }, now) : CLOSED;
  if (step.goal.limit === 0 && silent.length === 0) return { isOpen: true };
  const since = stageReadyTime ?? now.toISOString();
  const skipMs = silent.length > 0 ? remaining(stageTime, deadlineSeconds, now) : 0;
  const waitMs = Math.max(remaining(since, soakSeconds, now), skipMs);
  return { isOpen: waitMs === 0, stageReadyTime: since, requeueAfterMs: waitMs };
}

interface UnreadyStage {
  unready: StageStep;
  number: number;
  rules: NonNullable<Status["stageRules"]>;
}

/**
 * A stage that was ready, or was skipped, has the whole time again from the moment it was lost. If it is ready and lost again and again, it has the soak and
 * twice the time.
 */
function judgeUnready(rollout: Rollout, { unready, number, rules }: UnreadyStage, now: Date): Gate {
  const { stage, stageTime, stageReadyTime, stageLostTime } = toState(rollout);
  const { soakSeconds, deadlineSeconds } = rules;
  const wasReady = number < stage || stageReadyTime !== undefined || stageLostTime !== undefined;
  const lost = wasReady ? { stageLostTime: stageLostTime ?? now.toISOString() } : {};
  const leftMs = wasReady
    ? Math.min(
        remaining(lost.stageLostTime, deadlineSeconds, now),
        remaining(stageTime, soakSeconds + 2 * deadlineSeconds, now),
      )
    : remaining(stageTime, deadlineSeconds, now);
  if (leftMs > 0) return { ...CLOSED, ...lost, requeueAfterMs: leftMs };
  const { target, goal } = unready.step;
  const problem = `${target.routable.size} of ${goal.limit} instances take requests after ${deadlineSeconds} s`;
  return { ...CLOSED, late: { number, clusters: unready.clusters, problem } };
}

/** Milliseconds until so many seconds have passed since a time; all of them before it is known. */
function remaining(since: string | undefined, seconds: number, now: Date): number {
  const from = since === undefined ? now.getTime() : Date.parse(since);
  return Math.max(from + seconds * 1000 - now.getTime(), 0);
}

/** Nobody approves a stage that has no cluster. */
function pass(rollout: Rollout, { clusters }: StageStep, now: Date): StageProgress {
  const { stages, stageRules, stage, stagePauses, stageTime, stageReadyTime } = toState(rollout);
  const kept = { stages, stageRules, stagePauses };
  if (stage >= stages.length) return { fields: { ...kept, stage, stageTime, stageReadyTime }, isPassed: true };
  const next = { ...kept, stage: stage + 1 };
  return stageRules?.approval === "stage" && clusters.length > 0
    ? { fields: { ...next, stagePauses: (stagePauses ?? 0) + 1 }, isPassed: false }
    : { fields: { ...next, stageTime: now.toISOString() }, isPassed: false };
}

/** A failure cannot be continued in advance, as approvals can. */
function halt(rollout: Rollout, name: StageName, problem: string): StageProgress {
  const { stages, stageRules, stage, stagePauses: before = 0 } = toState(rollout);
  const stagePauses = Math.max(before, rollout.spec.continuedStages ?? 0) + 1;
  const stageProblem = cutDetails(`${nameStage(name, stages.length)}: ${problem}`);
  return { fields: { stages, stageRules, stage, stagePauses, stageProblem }, isPassed: false };
}

/** `stage 1 of 3 (east)`. */
export function describeStage(status: Pick<Status, "stages" | "stage"> | undefined): string {
  const { stages = [], stage = 1 } = status ?? {};
  return nameStage({ number: stage, clusters: stages[stage - 1] }, stages.length);
}

function nameStage({ number, clusters = [] }: StageName, total: number): string {
  const names = clusters.length > 0 ? ` (${clusters.join(", ")})` : "";
  return `stage ${number} of ${Math.max(total, 1)}${names}`;
}
