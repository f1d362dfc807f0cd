// Builder `kpack`: hands each Staging to kpack as a Build, and takes over its result. The class is for clusters that have kpack.
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { Staging } from "../../../crds/staging/staging.ts";
import { Secret, ServiceAccount } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import {
  defineController,
  watch,
  type Controller,
  type ReconcileContext,
  type ReconcileResult,
} from "../../../kube/controller/controller.ts";
import { DEADLINE_MARGIN_MS, deadlineOf, timeExpired, untilLogIsRead } from "../build-deadline.ts";
import type { BlobStore } from "../../../blobs/blob-store.ts";
import { ignoreGone } from "../../../kube/client/ignore-gone.ts";
import { createOnce } from "../build-objects.ts";
import { readDroplet } from "../read-droplet.ts";
import { provideContent } from "../package-content.ts";
import { noRegistry, presentImageError, type BuildRegistry } from "../registry-images.ts";
import { StagingFailure } from "../staging-failure.ts";
import { isOwnedBy, toStagingKeys } from "../staging-owner.ts";
import { hasEnded, planEnded, planFailed, planPending, planRunning, planSucceeded } from "../staging-status.ts";
import { toKpackProgress, type KpackProgress } from "./build-progress.ts";
import { KpackBuild, type KpackBuildObject } from "./kpack-build.ts";
import { parseKpackParameters, type KpackParameters } from "./parameters.ts";
import { planCredentials, planKpackBuild, toCredentialsName } from "./plan-build.ts";

/** The name of this class. */
export const KPACK_CLASS = "kpack";

const CAPABILITIES: Readonly<Record<string, string>> = {
  lifecycles: "buildpack,cnb",
  dropletKinds: "cnb",
  isolation: "pod",
  // kpack takes variables in plain text only.
  secretVariables: "false",
};

export interface KpackDeps {
  registry: BuildRegistry;
  blobs: Pick<BlobStore, "put">;
}

/** The controllers of the class. Without a registry every build fails with the reason. */
export function kpackBuilder(
  deps: Omit<KpackDeps, "registry"> & { registry: BuildRegistry | undefined },
): Controller[] {
  return [stagingController({ ...deps, registry: deps.registry ?? noRegistry }), classController()];
}

function classController(): Controller {
  return defineController({
    name: `class-${KPACK_CLASS}`,
    for: BackendClass,
    selects: ({ metadata, spec }) => metadata.name === KPACK_CLASS && spec.role === "builder",
    reconcile({ spec }) {
      const parsed = parseKpackParameters(spec.parameters);
      const status = { capabilities: CAPABILITIES };
      if ("parameters" in parsed) return { status };
      const message = parsed.problems.join("; ");
      return { status, ready: { status: "False", reason: "ParametersInvalid", message, isFailure: true } };
    },
  });
}

function stagingController(deps: KpackDeps): Controller {
  return defineController({
    name: "staging-kpack",
    for: Staging,
    reads: [BackendClass],
    selects: ({ spec }) => spec.class === KPACK_CLASS,
    watches: [watch(KpackBuild, toStagingKeys)],
    permissions: [
      { resource: KpackBuild, verbs: ["create", "delete"] },
      { resource: ServiceAccount, verbs: ["create", "delete"] },
      { resource: Secret, verbs: ["create", "delete"] },
    ],
    reconcile: (staging, context) => reconcile(deps, staging, context),
  });
}

async function reconcile(deps: KpackDeps, staging: Staging, context: ReconcileContext): Promise<ReconcileResult> {
  if (hasEnded(staging)) return planEnded(staging.status ?? {});
  const build = context.read.find(KpackBuild, staging.metadata);
  try {
    if (!build) return await start(deps, staging, context);
    if (!isOwnedBy(build, staging))
      return planPending(
        "BuildNameTaken",
        `kpack's Build ${build.metadata.name} is of another Staging; waits until it is gone`,
      );
    return await follow(deps, staging, build, context);
  } catch (error) {
    if (!(error instanceof StagingFailure)) throw error;
    await deleteCredentials(staging, context.client);
    return planFailed(staging.status?.startedAt, error);
  }
}

async function start(
  { registry, blobs }: KpackDeps,
  staging: Staging,
  { read, client, now }: ReconcileContext,
): Promise<ReconcileResult> {
  const { builderImage, runImage } = readParameters(read);
  checkBuildpacks(staging);
  const startedAt = staging.status?.startedAt ?? now().toISOString();
  const secondsLeft = Math.ceil((deadlineOf(staging, startedAt) - now().getTime()) / 1000);
  if (secondsLeft <= 0) throw timeExpired(staging);
  const dockerConfig = await registry.readDockerConfig();
  // A wrong name is said at once, and not by kpack in its own time.
  await registry.inspect(builderImage).catch((error: unknown) => {
    throw presentImageError(error, `the builder image ${builderImage} cannot be read`);
  });
  const content = await provideContent(staging, blobs);
  for (const draft of planCredentials(staging, dockerConfig))
    await createOnce(client, draft.kind === "Secret" ? Secret : ServiceAccount, draft);
  await createOnce(
    client,
    KpackBuild,
    planKpackBuild({ staging, builderImage, runImage, registryPrefix: registry.prefix, content, secondsLeft }),
  );
  return planRunning(startedAt);
}

function checkBuildpacks({ spec: { detect, buildpacks } }: Staging): void {
  if (!detect && buildpacks.length > 0)
    throw new StagingFailure(
      "NoBuildpacksFound",
      `the builder ${KPACK_CLASS} takes the order of its builder image: name no buildpacks, or build with another class`,
    );
}

function readParameters(read: ReconcileContext["read"]): KpackParameters {
  const parsed = parseKpackParameters(read.find(BackendClass, { name: KPACK_CLASS })?.spec.parameters);
  if ("parameters" in parsed) return parsed.parameters;
  throw new StagingFailure(
    "StagingError",
    `an operator has to set spec.parameters of BackendClass ${KPACK_CLASS}: ${parsed.problems.join("; ")}`,
  );
}

async function follow(
  deps: KpackDeps,
  staging: Staging,
  build: KpackBuildObject,
  context: ReconcileContext,
): Promise<ReconcileResult> {
  const startedAt = staging.status?.startedAt ?? build.metadata.creationTimestamp ?? context.now().toISOString();
  const progress = toKpackProgress(build);
  if (progress.kind === "exported") return await finish(deps, staging, progress.image, context);
  if (progress.kind === "failed") return await fail(staging, startedAt, progress, context);
  const leftMs = deadlineOf(staging, startedAt) + DEADLINE_MARGIN_MS - context.now().getTime();
  if (leftMs <= 0) throw timeExpired(staging);
  return { ...planRunning(startedAt, progress), requeueAfterMs: leftMs + 1 };
}

async function finish(
  { registry }: KpackDeps,
  staging: Staging,
  image: string,
  { client }: ReconcileContext,
): Promise<ReconcileResult> {
  const droplet = await readDroplet(image, registry, client);
  await deleteCredentials(staging, client);
  return planSucceeded(staging.status?.startedAt, droplet);
}

async function fail(
  staging: Staging,
  startedAt: string,
  { code, message, at }: Extract<KpackProgress, { kind: "failed" }>,
  { client, now }: ReconcileContext,
): Promise<ReconcileResult> {
  const waitMs = untilLogIsRead(at, now());
  if (waitMs > 0) return { ...planRunning(startedAt), requeueAfterMs: waitMs };
  await deleteCredentials(staging, client);
  return planFailed(startedAt, { code, message });
}

async function deleteCredentials(staging: Staging, client: KubeClient): Promise<void> {
  const { namespace } = staging.metadata;
  const key = { ...(namespace && { namespace }), name: toCredentialsName(staging) };
  await ignoreGone(client.delete(Secret, key));
  await ignoreGone(client.delete(ServiceAccount, key));
}
