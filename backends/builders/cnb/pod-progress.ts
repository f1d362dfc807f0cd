// State of a build's Pod: waiting, running, exported, failed (with Cloud Foundry's code), or interrupted. Pure.
import type { ContainerStatus, Pod as PodType } from "kubernetes-types/core/v1.js";
import { parse } from "smol-toml";
import { z } from "zod";
import type { Builtin } from "../../../kube/api/builtin.ts";
import type { StagingCode } from "../staging-failure.ts";
import { isFirstRefusal, isPermanentPullError } from "../../pods/refused-pull.ts";
import { explainExit } from "../lifecycle-exits.ts";
import { PHASES, type Phase } from "./plan-pod.ts";
import { REBASE_STEPS } from "./rebase/plan-rebase-pod.ts";

export type PodObject = Builtin<PodType>;

/** A container of a build or of a rebase. */
export type Step = Phase | (typeof REBASE_STEPS)[number];
const STEPS: readonly string[] = [...PHASES, ...REBASE_STEPS];

export type PodProgress =
  /** Not a failure yet; a person may want to know. */
  | { kind: "waiting"; reason: string; message: string }
  | { kind: "running"; phase: Step }
  /** Digest of the exported image. */
  | { kind: "exported"; digest: string; at: string | undefined }
  | { kind: "failed"; code: StagingCode; message: string; at: string | undefined }
  /** It ended for a reason that is not the build's: another Pod builds it again. */
  | { kind: "interrupted"; message: string };

const OUT_OF_MEMORY =
  "the build needed more memory than it may have; give it more (Build.spec.memoryMB), or make it need less";

const OUT_OF_DISK = "the build needed more disk than it may have (Build.spec.diskMB)";

/** How long a container may fail to start for a reason that a retry may end. */
const START_PATIENCE_MS = 60_000;

/** Reasons of a waiting container that no retry ends, and those that one may. */
const FINAL_REASONS = new Set(["InvalidImageName", "ErrImageNeverPull"]);
const RETRIED_REASONS = new Set([
  "ErrImagePull",
  "ImagePullBackOff",
  "CreateContainerConfigError",
  "CreateContainerError",
  "RunContainerError",
]);
export function toProgress(pod: PodObject, now: Date): PodProgress {
  const { phase } = pod.status ?? {};
  if (phase === "Succeeded") return toExported(pod);
  if (phase === "Failed") return toFailure(pod);
  if (hasExported(pod)) return toExported(pod);
  const statuses = statusesOf(pod);
  const ended = findFailed(statuses);
  if (ended) return describeFailure(ended);
  const waiting = findWaiting(statuses);
  if (waiting) return toWaiting(pod, waiting, now);
  const running = statuses.find((status) => status.state?.running);
  if (running) return { kind: "running", phase: running.name as Step };
  return toScheduling(pod);
}

/** The last container has ended well. Kubelet says so a second before it says that of the Pod. */
function hasExported(pod: PodObject): boolean {
  return lastContainerOf(pod)?.state?.terminated?.exitCode === 0;
}

const LAST_STEPS: readonly (string | undefined)[] = [PHASES.at(-1), REBASE_STEPS.at(-1)];

/** The status of the container that ends the build. By name: clusters inject containers of their own. */
export function lastContainerOf({ status }: PodObject): ContainerStatus | undefined {
  return status?.containerStatuses?.find(({ name }) => LAST_STEPS.includes(name));
}

function statusesOf(pod: PodObject): ContainerStatus[] {
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  return [...initContainerStatuses, ...containerStatuses].filter(({ name }) => STEPS.includes(name));
}

function endOf(status: ContainerStatus | undefined): string | undefined {
  return status?.state?.terminated?.finishedAt;
}

function findFailed(statuses: readonly ContainerStatus[]): ContainerStatus | undefined {
  return statuses.find(({ state }) => state?.terminated && state.terminated.exitCode !== 0);
}

function findWaiting(statuses: readonly ContainerStatus[]): ContainerStatus | undefined {
  return statuses.find(
    ({ state }) => FINAL_REASONS.has(state?.waiting?.reason ?? "") || RETRIED_REASONS.has(state?.waiting?.reason ?? ""),
  );
}

function toWaiting(pod: PodObject, status: ContainerStatus, now: Date): PodProgress {
  const { reason = "", message = "" } = status.state?.waiting ?? {};
  const text = `the container ${status.name} with image ${status.image} cannot start: ${reason}${message && `: ${message}`}`;
  const waited = now.getTime() - lastStepOf(pod);
  const isFinal =
    FINAL_REASONS.has(reason) ||
    (/Image/.test(reason) && isFinalPullError(message, waited)) ||
    waited > START_PATIENCE_MS;
  if (!isFinal) return { kind: "waiting", reason, message: text };
  return { kind: "failed", code: "StagingError", message: text, at: undefined };
}

function isFinalPullError(message: string, waitedMs: number): boolean {
  return isPermanentPullError(message) && !isFirstRefusal(message, waitedMs);
}

/** When the last phase ended, or the Pod was made, in ms. */
function lastStepOf(pod: PodObject): number {
  const ends = statusesOf(pod).flatMap(({ state }) => state?.terminated?.finishedAt ?? []);
  return Math.max(...[pod.metadata.creationTimestamp ?? "", ...ends].map((time) => Date.parse(time) || 0));
}

function toScheduling(pod: PodObject): PodProgress {
  const scheduled = pod.status?.conditions?.find(({ type }) => type === "PodScheduled");
  if (scheduled?.status === "False")
    return {
      kind: "waiting",
      reason: "Unschedulable",
      message: `no node takes the build yet: ${scheduled.message ?? scheduled.reason ?? "no reason given"}`,
    };
  return { kind: "waiting", reason: "Starting", message: "the build's containers are starting" };
}

const report = z.object({ image: z.object({ digest: z.string().regex(/^sha256:[0-9a-f]{64}$/) }) });

function toExported(pod: PodObject): PodProgress {
  const terminated = lastContainerOf(pod)?.state?.terminated;
  try {
    const { digest } = report.parse(parse(terminated?.message ?? "")).image;
    return { kind: "exported", digest, at: terminated?.finishedAt };
  } catch {
    const message = "the lifecycle ended without a report of the image's digest";
    return { kind: "failed", code: "StagingError", message, at: terminated?.finishedAt };
  }
}

function toFailure(pod: PodObject): PodProgress {
  const { reason, message = "no reason given" } = pod.status ?? {};
  const failed = findFailed(statusesOf(pod));
  const at = endOf(failed);
  if (reason === "DeadlineExceeded")
    return { kind: "failed", code: "StagingTimeExpired", message: "the build took too long", at };
  if (reason === "Evicted" && isOwnDisk(message))
    return { kind: "failed", code: "InsufficientResources", message: `${OUT_OF_DISK}: ${message}`, at };
  // An eviction by the kubelet says nothing of the build.
  if (reason) return { kind: "interrupted", message: `${reason}: ${message}` };
  return failed
    ? describeFailure(failed)
    : { kind: "interrupted", message: "the Pod failed without a container that failed" };
}

/** The build used more than its limit; otherwise the node ran short. */
function isOwnDisk(message: string): boolean {
  return /ephemeral|storage|volume/i.test(message) && !/low on resource/i.test(message);
}

function describeFailure({ name, state }: ContainerStatus): PodProgress {
  const { exitCode = 1, reason, message = "", finishedAt: at } = state?.terminated ?? {};
  if (reason === "OOMKilled") return { kind: "failed", code: "InsufficientResources", message: OUT_OF_MEMORY, at };
  const { code, text } = explainExit(name, exitCode);
  return { kind: "failed", code, message: `${text}${message && `: ${lastLines(message)}`}`, at };
}

const MAX_MESSAGE_LENGTH = 1000;

function lastLines(message: string): string {
  const text = message.trim();
  return text.length > MAX_MESSAGE_LENGTH ? `…${text.slice(-MAX_MESSAGE_LENGTH)}` : text;
}
