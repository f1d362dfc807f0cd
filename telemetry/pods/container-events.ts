// A container by the status of its pod: how its last run ended, and since when it is healthy. Pure.
import type { ContainerStateTerminated, ContainerStatus, Pod as PodType } from "kubernetes-types/core/v1.js";
import type { Builtin } from "../../kube/api/builtin.ts";
import { toCrashLine, toExitLine, type ExitProblem } from "../../crds/lrp/instance-problem.ts";
import { LABELS } from "../../crds/labels.ts";
import type { SourceType } from "../envelope.ts";

export type PodObject = Builtin<PodType>;

/** The main container of an instance, as runners name it. */
export const MAIN_CONTAINER = "application";

/** The end of one run of a container. */
export interface ContainerExit {
  run: string;
  /** Nanoseconds since the epoch, in whole seconds. */
  time: bigint;
  /** Line in the app's log. */
  lines: readonly { message: string; sourceType?: SourceType }[];
}

/** The end of the current run, or of the one before it. */
export function toExit(pod: PodObject, { name, state, lastState }: ContainerStatus): ContainerExit | undefined {
  const end = state?.terminated ?? lastState?.terminated;
  const time = toNanoseconds(end?.finishedAt);
  return end && time !== undefined
    ? { run: end.containerID ?? "", time, lines: toExitLines(pod, name, end) }
    : undefined;
}

function toExitLines(pod: PodObject, container: string, end: ContainerStateTerminated): ContainerExit["lines"] {
  const { labels = {}, deletionTimestamp } = pod.metadata;
  const sourceType = labels[LABELS.sourceType];
  // A build's phases end without a word, as in Cloud Foundry.
  if (sourceType === "STG") return [];
  const exit = { message: toExitLine({ kind: toExitKind(pod, end), status: end.exitCode }) };
  const hasCrashed = sourceType !== "TASK" && container === MAIN_CONTAINER && deletionTimestamp === undefined;
  return hasCrashed ? [exit, { message: toCrashLine(labels[LABELS.processType] ?? "web"), sourceType: "API" }] : [exit];
}

function toExitKind({ status }: PodObject, { reason }: ContainerStateTerminated): ExitProblem["kind"] {
  if (reason === "OOMKilled") return "outOfMemory";
  return status?.reason === "Evicted" && status.message?.includes("ephemeral") ? "diskFull" : "exited";
}

/** Nanoseconds since the epoch, when an instance became ready for requests; undefined while it is not. */
export function toHealthySince(pod: PodObject, container: ContainerStatus): bigint | undefined {
  const { state, ready } = container;
  if (!isInstance(pod, container) || !ready || !state?.running) return undefined;
  const condition = pod.status?.conditions?.find(({ type }) => type === "Ready");
  return toNanoseconds(condition?.lastTransitionTime ?? state.running.startedAt);
}

function isInstance({ metadata }: PodObject, { name }: ContainerStatus): boolean {
  return name === MAIN_CONTAINER && metadata.labels?.[LABELS.sourceType] === "APP";
}

function toNanoseconds(time: string | undefined): bigint | undefined {
  const milliseconds = Date.parse(time ?? "");
  return Number.isNaN(milliseconds) ? undefined : BigInt(milliseconds) * 1_000_000n;
}
