// Builder `cnb`: builds each Staging in a Pod that runs the lifecycle of a builder image. Level-based: the status follows from the Pod.
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { Buildpack } from "../../../crds/buildpack/buildpack.ts";
import { Staging } from "../../../crds/staging/staging.ts";
import { Pod, Secret } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import {
  defineController,
  watch,
  type Controller,
  type ReconcileContext,
  type ReconcileResult,
} from "../../../kube/controller/controller.ts";
import { DEADLINE_MARGIN_MS, deadlineOf, timeExpired, untilLogIsRead } from "../build-deadline.ts";
import { StagingFailure } from "../staging-failure.ts";
import { toBuildImages } from "../build-images.ts";
import { ignoreGone } from "../../../kube/client/ignore-gone.ts";
import { toEnvSecretName, toPodName, toRebasePodName, toRegistrySecretName } from "./build-paths.ts";
import { isOwnedBy, toStagingKeys } from "../staging-owner.ts";
import { BUILD_POD_SELECTOR, isOver } from "./build-pods.ts";
import { CNB_CLASS, cnbClassController } from "./cnb-class.ts";
import { readDroplet } from "../read-droplet.ts";
import { toProgress, type PodObject, type PodProgress } from "./pod-progress.ts";
import { noRegistry, type BuildRegistry } from "../registry-images.ts";
import { readParameters, startBuild, type BuildDeps } from "./start-build.ts";
import { hasEnded, planEnded, planFailed, planPending, planRunning, planSucceeded } from "../staging-status.ts";
import { findReasonToWait } from "./turns.ts";

/** How long the Pod of a finished build stays, so that its log can be read. */
const POD_RETENTION_MS = 300_000;
/** A Pod that waits is looked at again, since its patience ends without an event. */
const WAITING_RECHECK_MS = 10_000;

const OPEN_INDEX = "cnb/open";

/** The controllers of the class. Without a registry they only say that one is needed. */
export function cnbBuilder(deps: Omit<BuildDeps, "registry"> & { registry: BuildRegistry | undefined }): Controller[] {
  const registry = deps.registry ?? noRegistry;
  return [stagingController({ ...deps, registry }), cnbClassController(registry)];
}

function stagingController(deps: BuildDeps): Controller {
  return defineController({
    name: "staging-cnb",
    for: Staging,
    selects: ({ spec }) => spec.class === CNB_CLASS,
    reads: [Buildpack],
    indexes: { [OPEN_INDEX]: (staging: Staging) => (isOpen(staging) ? ["any"] : []) },
    watches: [
      watch(Pod, toStagingKeys, { labelSelector: BUILD_POD_SELECTOR }),
      watch(BackendClass, ({ metadata }) => (metadata.name === CNB_CLASS ? { [OPEN_INDEX]: "any" } : [])),
      // The end of a build gives its place to another one.
      watch(Staging, (staging) => (hasEnded(staging) ? { [OPEN_INDEX]: "any" } : [])),
    ],
    permissions: [
      { resource: Pod, verbs: ["create", "delete"] },
      { resource: Secret, verbs: ["get", "create", "delete"] },
    ],
    reconcile: (staging, context) => reconcile(deps, staging, context),
  });
}

function isOpen(staging: Staging): boolean {
  return staging.spec.class === CNB_CLASS && !hasEnded(staging) && !staging.metadata.deletionTimestamp;
}

async function reconcile(deps: BuildDeps, staging: Staging, context: ReconcileContext): Promise<ReconcileResult> {
  const { status } = staging;
  const found = [toPodName(staging), toRebasePodName(staging)].flatMap(
    (name) => context.read.find(Pod, { ...podNamespace(staging), name }) ?? [],
  );
  const pods = found.filter((pod) => isOwnedBy(pod, staging));
  if (hasEnded(staging)) return tidyUp(staging, pods, context);
  const foreign = found.find((pod) => !pods.includes(pod));
  if (foreign)
    return planPending("PodNameTaken", `the Pod ${foreign.metadata.name} is not owned by this Staging; delete it`);
  try {
    // The Pod of a build comes first, then that of the rebase that it took the place of.
    const [pod, replaced] = pods;
    if (replaced) await endPod(replaced, context.client);
    if (!pod) return await openBuild(deps, staging, { mayRebase: true }, context);
    // A rebase is a shortcut: where it fails, the build says what is wrong, if anything is.
    if (hasRebaseFailed(pod, staging, context.now()))
      return await openBuild(deps, staging, { mayRebase: false }, context);
    return await followPod(deps, staging, pod, context);
  } catch (error) {
    if (!(error instanceof StagingFailure)) throw error;
    await deleteSecrets(staging, context.client);
    return planFailed(status?.startedAt, error);
  }
}

function isRebase({ metadata }: PodObject, staging: Staging): boolean {
  return metadata.name === toRebasePodName(staging);
}

function hasRebaseFailed(pod: PodObject, staging: Staging, now: Date): boolean {
  return isRebase(pod, staging) && toProgress(pod, now).kind === "failed";
}

function podNamespace({ metadata: { namespace } }: Staging): { namespace?: string } {
  return namespace === undefined ? {} : { namespace };
}

async function openBuild(
  deps: BuildDeps,
  staging: Staging,
  { mayRebase }: { mayRebase: boolean },
  context: ReconcileContext,
): Promise<ReconcileResult> {
  const { read, client, now } = context;
  const parameters = readParameters(read);
  const waits = findReasonToWait(staging, read.byIndex(Staging, OPEN_INDEX, "any"), parameters.concurrency);
  if (waits) return planPending(waits.reason, waits.message);
  const startedAt = staging.status?.startedAt ?? now().toISOString();
  const secondsLeft = Math.ceil((deadlineOf(staging, startedAt) - now().getTime()) / 1000);
  if (secondsLeft <= 0) throw timeExpired(staging);
  await startBuild(deps, { staging, parameters, secondsLeft, mayRebase }, { read, client });
  return planRunning(startedAt);
}

async function followPod(
  deps: BuildDeps,
  staging: Staging,
  pod: PodObject,
  context: ReconcileContext,
): Promise<ReconcileResult> {
  const now = context.now();
  const startedAt = staging.status?.startedAt ?? pod.metadata.creationTimestamp ?? now.toISOString();
  if (pod.metadata.deletionTimestamp && !isOver(pod)) return followDeleted(staging, startedAt, now);
  const progress = toProgress(pod, now);
  switch (progress.kind) {
    case "exported":
      return await finish(deps, staging, progress.digest, context);
    case "failed":
      return await fail(staging, startedAt, progress, context);
    case "interrupted":
      await deletePod(pod, context.client);
      return planRunning(startedAt, { reason: "Interrupted", message: `the build starts again: ${progress.message}` });
    default:
      return followOpen(staging, startedAt, progress, now);
  }
}

/** Somebody deleted the Pod, or its node left: another one builds it again, within the same time. */
function followDeleted(staging: Staging, startedAt: string, now: Date): ReconcileResult {
  if (isLate(staging, startedAt, now)) throw timeExpired(staging);
  const message = "the build's Pod is being deleted; the build starts again when it is gone";
  return { ...planRunning(startedAt, { reason: "Interrupted", message }), requeueAfterMs: WAITING_RECHECK_MS };
}

function followOpen(
  staging: Staging,
  startedAt: string,
  progress: Extract<PodProgress, { kind: "waiting" | "running" }>,
  now: Date,
): ReconcileResult {
  const isWaiting = progress.kind === "waiting";
  if (isLate(staging, startedAt, now)) {
    if (isWaiting && progress.reason === "Unschedulable")
      throw new StagingFailure("InsufficientResources", progress.message);
    throw timeExpired(staging);
  }
  const untilDeadline = deadlineOf(staging, startedAt) + DEADLINE_MARGIN_MS - now.getTime() + 1;
  return {
    ...planRunning(startedAt, isWaiting ? progress : undefined),
    requeueAfterMs: isWaiting ? Math.min(WAITING_RECHECK_MS, untilDeadline) : untilDeadline,
  };
}

async function finish(
  { registry }: BuildDeps,
  staging: Staging,
  digest: string,
  { client }: ReconcileContext,
): Promise<ReconcileResult> {
  const image = `${toBuildImages(registry.prefix, staging.spec).repository}@${digest}`;
  const [droplet] = await Promise.all([readDroplet(image, registry, client), deleteSecrets(staging, client)]);
  return planSucceeded(staging.status?.startedAt, droplet);
}

async function fail(
  staging: Staging,
  startedAt: string,
  { code, message, at }: Extract<PodProgress, { kind: "failed" }>,
  { client, now }: ReconcileContext,
): Promise<ReconcileResult> {
  const waitMs = untilLogIsRead(at, now());
  if (waitMs > 0) return { ...planRunning(startedAt), requeueAfterMs: waitMs };
  await deleteSecrets(staging, client);
  return planFailed(startedAt, { code, message });
}

/** The Pods of a finished build are deleted when their logs have had time, and at once when they have not ended. */
async function tidyUp(
  staging: Staging,
  pods: readonly PodObject[],
  context: ReconcileContext,
): Promise<ReconcileResult> {
  const ended = planEnded(staging.status ?? {});
  const waits: number[] = [];
  for (const pod of pods.filter(({ metadata }) => !metadata.deletionTimestamp)) {
    const endedAt = Date.parse(lastChangeOf(staging, pod));
    const waitMs = isOver(pod) ? endedAt + POD_RETENTION_MS - context.now().getTime() : 0;
    if (waitMs > 0) waits.push(waitMs);
    else await deletePod(pod, context.client);
  }
  return waits.length > 0 ? { ...ended, requeueAfterMs: Math.min(...waits) } : ended;
}

function lastChangeOf({ status }: Staging, pod: PodObject): string {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return ready?.lastTransitionTime ?? pod.metadata.creationTimestamp ?? "";
}

function isLate(staging: Staging, startedAt: string, now: Date): boolean {
  return now.getTime() > deadlineOf(staging, startedAt) + DEADLINE_MARGIN_MS;
}

/** For example, it waits for its image. */
async function endPod(pod: PodObject, client: KubeClient): Promise<void> {
  if (!isOver(pod) && !pod.metadata.deletionTimestamp) await deletePod(pod, client);
}

async function deletePod({ metadata }: PodObject, client: KubeClient): Promise<void> {
  const { namespace, name, uid } = metadata;
  await ignoreGone(
    client.delete(Pod, { ...(namespace && { namespace }), name }, { preconditions: { ...(uid && { uid }) } }),
  );
}

/** Credentials and values of variables do not outlive the build. */
async function deleteSecrets(staging: Staging, client: KubeClient): Promise<void> {
  const names = [toEnvSecretName(staging), toRegistrySecretName(staging)];
  await Promise.all(names.map((name) => ignoreGone(client.delete(Secret, { ...podNamespace(staging), name }))));
}
