// Which Revision an app runs, and which of its Rollouts is under way. Pure.
import type { App } from "../../crds/app/app.ts";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import type { RunningLRP } from "../../crds/placement-decision/merged-lrps.ts";
import type { Process } from "../../crds/process/process.ts";
import type { Revision } from "../../crds/revision/revision.ts";
import type { Rollout } from "../../crds/rollout/rollout.ts";
import { goalOf, isEnded, isStagePaused, ownState, sortRollouts, type RolloutGoal } from "../../crds/rollout/rules.ts";
import { countInstances, planCounts, type VersionInstances } from "./rollout-counts.ts";

/** An app's Rollouts and Revisions, without those that are being deleted. */
export interface AppHistory {
  rollouts: readonly Rollout[];
  revisions: readonly Revision[];
}

/**
 * The Revision that a started app runs: the one its status names, or a newer one to which a Rollout has moved it. Versions only grow, so the
 * answer does not depend on which cache is fresher.
 */
export function findRunningRevision(app: App, { rollouts, revisions }: AppHistory): Revision | undefined {
  if (app.status?.revision === undefined) return undefined;
  const names = new Set([app.status.revision, ...rollouts.map(({ status }) => status?.finalRevision)]);
  return revisions
    .filter(({ metadata }) => names.has(metadata.name))
    .toSorted((a, b) => b.spec.version - a.spec.version)[0];
}

/** The Revision that was made for a Rollout. */
export function findRolloutRevision(rollout: Rollout, revisions: readonly Revision[]): Revision | undefined {
  return revisions.find(({ spec }) => spec.rollout === rollout.metadata.name);
}

/** The newest Rollout, unless it is over. */
export function findOpenRollout(rollouts: readonly Rollout[]): Rollout | undefined {
  const newest = sortRollouts(rollouts)[0];
  return newest && !isEnded(newest) ? newest : undefined;
}

/** The open Rollout for which no Revision was made yet. */
export function findRolloutWithoutRevision({ rollouts, revisions }: AppHistory): Rollout | undefined {
  const newest = sortRollouts(rollouts)[0];
  const isDue = newest && !newest.spec.cancelled && (newest.spec.startsApp === true || !isEnded(newest));
  return isDue && !findRolloutRevision(newest, revisions) ? newest : undefined;
}

/** Name of the droplet that a Rollout runs: its own, its former Revision's, or the app's. Undefined when there is none. */
export function findDropletName({ spec }: Rollout, app: App, { revisions }: AppHistory): string | undefined {
  if (spec.droplet) return spec.droplet.name;
  return spec.revision ? findRevision(spec.revision.name, revisions)?.spec.dropletRef.name : app.spec.droplet?.name;
}

/** By object name. */
export function findRevision(name: string | undefined, revisions: readonly Revision[]): Revision | undefined {
  return revisions.find(({ metadata }) => metadata.name === name);
}

/** The versions of a web process while a Rollout replaces one by another. */
export interface RolloutVersions {
  rollout: Rollout;
  /** The Revision whose instances grow: the new one, or the former one after a cancellation. Undefined until it is made. */
  target: Revision | undefined;
  /** The Revision that the app runs. */
  running: Revision;
}

/** Undefined when no Rollout is under way, so that the process runs one Revision only. */
export function findRolloutVersions(
  app: App,
  history: AppHistory,
  lrps: readonly RunningLRP[],
): RolloutVersions | undefined {
  const running = findRunningRevision(app, history);
  const rollout = findOpenRollout(history.rollouts);
  if (!running || !rollout || rollout.spec.startsApp || rollout.status?.finalRevision !== undefined) return undefined;
  const made = findRolloutRevision(rollout, history.revisions);
  if (made && made.spec.version <= running.spec.version) return undefined;
  const target = ownState(rollout) === "Canceling" ? findFormerRevision(running, history, lrps) : made;
  return { rollout, target, running };
}

/**
 * The Revision that a cancellation returns to. As in CF, that is the newest one of a superseded rolling Rollout that still has a running instance, else the
 * one that the app runs.
 */
function findFormerRevision(
  running: Revision,
  { rollouts, revisions }: AppHistory,
  lrps: readonly RunningLRP[],
): Revision {
  const interim = sortRollouts(rollouts)
    .filter(({ status }) => status?.superseded && status.state === "Deployed")
    .map((rollout) => findRolloutRevision(rollout, revisions))
    .find(
      (revision) =>
        revision !== undefined &&
        revision.spec.version > running.spec.version &&
        countInstances(findLRPOf(revision, lrps)).routable.size > 0,
    );
  return interim ?? running;
}

/** The LRP of a Revision among those of one process. */
export function findLRPOf<T extends RunningLRP>(revision: Revision | undefined, lrps: readonly T[]): T | undefined {
  return lrps.find(
    ({ spec, metadata }) => spec.revision === String(revision?.spec.version) && !metadata.deletionTimestamp,
  );
}

export interface RolloutStep<T extends RunningLRP = RunningLRP> {
  goal: RolloutGoal;
  target: VersionInstances;
  others: readonly VersionInstances[];
  /** Next number of instances of the target. */
  next: number;
  /** LRPs of the other versions with their next numbers of instances, in the order in which they shrink. */
  rest: readonly { lrp: T; instances: number }[];
}

/** The next step of a Rollout; `wanted` is the number of instances in the web Process's spec. */
export function planRolloutStep<T extends RunningLRP>(
  { rollout, target, running }: RolloutVersions,
  history: AppHistory,
  { lrps, wanted, goal = goalOf(rollout, wanted) }: { lrps: readonly T[]; wanted: number; goal?: RolloutGoal },
): RolloutStep<T> {
  const growing = countInstances(findLRPOf(target, lrps));
  const shrinking = listShrinking(lrps, target, { history, running });
  const others = shrinking.map((lrp) => countInstances(lrp));
  const isPaused = (rollout.spec.paused === true || isStagePaused(rollout)) && ownState(rollout) === "Paused";
  const isHeld = target === undefined || isPaused;
  const counts = isHeld
    ? { target: growing.instances, others: others.map(({ instances }) => instances) }
    : planCounts(growing, others, goal);
  return {
    goal,
    target: growing,
    others,
    next: counts.target,
    rest: shrinking.map((lrp, at) => ({ lrp, instances: counts.others[at] ?? lrp.spec.instances })),
  };
}

/** Versions of canceled Rollouts first, then the oldest. */
function listShrinking<T extends RunningLRP>(
  lrps: readonly T[],
  target: Revision | undefined,
  { history, running }: { history: AppHistory; running: Revision },
): T[] {
  const canceled = new Set(
    history.rollouts
      .filter((rollout) => ownState(rollout) === "Canceled" || ownState(rollout) === "Canceling")
      .map((rollout) => String(findRolloutRevision(rollout, history.revisions)?.spec.version)),
  );
  canceled.delete(String(running.spec.version));
  const rank = ({ spec }: RunningLRP): number => (canceled.has(spec.revision) ? 0 : 1);
  return lrps
    .filter(({ spec, metadata }) => spec.revision !== String(target?.spec.version) && !metadata.deletionTimestamp)
    .toSorted((a, b) => rank(a) - rank(b) || Number(a.spec.revision) - Number(b.spec.revision));
}

/**
 * The fields of a Process's spec that a Rollout sets when all new instances run; a Rollout that returns to a Revision also sets the command. The number of
 * instances of a process that is to be detached is not the platform's any more.
 */
export function planAdoptedSpec(
  process: Process,
  rollout: Rollout,
  revisions: readonly Revision[],
): Readonly<Record<string, unknown>> {
  const { instances, memoryMB, diskMB, logRateLimitBytesPerSecond, revision } = rollout.spec;
  const count = process.spec.detached ? undefined : instances;
  const sizes = omitUndefined({ instances: count, memoryMB, diskMB, logRateLimitBytesPerSecond });
  const snapshot = findRevision(revision?.name, revisions)?.spec.processes.find(
    ({ type }) => type === process.spec.type,
  );
  return { ...(process.spec.type === "web" && sizes), ...(snapshot && { command: snapshot.command }) };
}
