// Starts one build: reads what it needs, then creates its Secrets and its Pod. Repeating it creates nothing twice.
import type { BlobStore } from "../../../blobs/blob-store.ts";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { Buildpack } from "../../../crds/buildpack/buildpack.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import type { Staging } from "../../../crds/staging/staging.ts";
import { Pod, Secret } from "../../../kube/api/builtin.ts";
import type { Draft, KubeClient } from "../../../kube/client/client.ts";
import { KubeError } from "../../../kube/client/errors.ts";
import type { ReconcileContext } from "../../../kube/controller/controller.ts";
import { resolveEnvironment } from "../../host/resolve-environment.ts";
import { createOnce } from "../build-objects.ts";
import { provideContent } from "../package-content.ts";
import { StagingFailure } from "../staging-failure.ts";
import { toBuildImages } from "../build-images.ts";
import type { BuilderImage } from "./builder-image.ts";
import { planOrder } from "./buildpack-order.ts";
import { CNB_CLASS, readBuilderImage } from "./cnb-class.ts";
import { isOfImage, toOrderToml, toPlacedFile, type PlacedGroup } from "./placed-buildpacks.ts";
import { parseParameters, type CnbParameters } from "./parameters.ts";
import { findRebase } from "./rebase/find-rebase.ts";
import { planPod } from "./plan-pod.ts";
import { planRebasePod } from "./rebase/plan-rebase-pod.ts";
import { planEnvSecret, planRegistrySecret, type OrderText } from "./plan-secrets.ts";
import { digestInputs, toProjectMetadata } from "./rebase/rebase-decision.ts";
import type { BuildRegistry } from "../registry-images.ts";

export interface BuildDeps {
  registry: BuildRegistry;
  blobs: Pick<BlobStore, "put">;
}

/** The class's parameters. @throws StagingFailure that names the mistakes */
export function readParameters(read: ReconcileContext["read"]): CnbParameters {
  const parsed = parseParameters(read.find(BackendClass, { name: CNB_CLASS })?.spec.parameters);
  if ("parameters" in parsed) return parsed.parameters;
  throw new StagingFailure(
    "StagingError",
    `an operator has to set spec.parameters of BackendClass ${CNB_CLASS}: ${parsed.problems.join("; ")}`,
  );
}

export interface BuildStart {
  staging: Staging;
  parameters: CnbParameters;
  secondsLeft: number;
  /** False after a rebase that failed. */
  mayRebase: boolean;
}

/** Creates the Pod of a build, or of a rebase where that is enough. @throws StagingFailure when no retry helps */
export async function startBuild(
  { registry, blobs }: BuildDeps,
  { staging, parameters, secondsLeft, mayRebase }: BuildStart,
  { read, client }: Pick<ReconcileContext, "read" | "client">,
): Promise<void> {
  const [content, builder, dockerConfig] = await Promise.all([
    provideContent(staging, blobs),
    readBuilderImage(parameters, registry),
    registry.readDockerConfig(),
  ]);
  const runImage = chooseRunImage(parameters, builder);
  const groups = planOrder(staging.spec, builder, listDisabled(read));
  const order = toOrder(groups, builder);
  const images = toBuildImages(registry.prefix, staging.spec);
  const inputs = digestInputs({ spec: staging.spec, content, builderImage: builder.reference, order: order?.text });
  const question = { latest: images.latest, inputs, runImage, order: groups };
  const rebase = mayRebase ? await findRebase(registry, question) : undefined;
  const build = {
    staging,
    builder,
    builderImage: builder.reference,
    platformImage: parameters.platformImage,
    runImage,
    images,
    insecureHosts: registry.insecureHosts,
    hasCredentials: dockerConfig !== undefined,
    secondsLeft,
  };
  const hosts = [images.image, images.cache, runImage];
  const secrets = [
    ...(dockerConfig === undefined ? [] : [planRegistrySecret(staging, dockerConfig, hosts)]),
    ...(rebase ? [] : [await planEnvironment(client, staging, { order, inputs: toProjectMetadata(inputs) })]),
  ];
  await Promise.all(secrets.map((secret) => createOnce(client, Secret, secret)));
  if (rebase) return createOnce(client, Pod, planRebasePod({ ...build, rebase }));
  const { prefix: registryPrefix } = registry;
  await createOnce(client, Pod, planPod({ ...build, content, registryPrefix, order: order?.kind ?? "image" }));
}

function chooseRunImage(parameters: CnbParameters, builder: BuilderImage): string {
  const runImage = parameters.runImage ?? builder.runImage;
  if (runImage !== undefined) return runImage;
  throw new StagingFailure("StagingError", "the builder image names no run image: set the class's parameter runImage");
}

/** Ids of the image's buildpacks that an admin disabled. */
function listDisabled(read: ReconcileContext["read"]): ReadonlySet<string> {
  const disabled = read
    .list(Buildpack, { namespace: SYSTEM_NAMESPACE })
    .filter(({ spec }) => spec.builder === CNB_CLASS && !spec.enabled);
  return new Set(disabled.flatMap(({ spec }) => spec.path ?? []));
}

function toOrder(
  order: readonly PlacedGroup[] | undefined,
  { buildpacks }: Pick<BuilderImage, "buildpacks">,
): OrderText | undefined {
  if (!order) return undefined;
  return isOfImage(order)
    ? { kind: "chosen", text: toOrderToml(order) }
    : { kind: "brought", text: toPlacedFile(order, buildpacks) };
}

/** The Secret of a build's variables. */
async function planEnvironment(
  client: KubeClient,
  staging: Staging,
  files: Parameters<typeof planEnvSecret>[2],
): Promise<Draft> {
  return planEnvSecret(staging, await readEnvironment(client, staging), files);
}

async function readEnvironment(client: KubeClient, { metadata, spec }: Staging): Promise<Record<string, string>> {
  try {
    return await resolveEnvironment(client, metadata.namespace ?? "", spec.env);
  } catch (cause) {
    if (cause instanceof KubeError) throw cause;
    throw new StagingFailure("StagingError", cause instanceof Error ? cause.message : String(cause), { cause });
  }
}
