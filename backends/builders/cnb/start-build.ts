// Starts one build: reads what it needs, then creates its Secrets and its Pod. Repeating it creates nothing twice.
import type { BlobStore } from "../../../blobs/blob-store.ts";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { Buildpack } from "../../../crds/buildpack/buildpack.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import type { Staging } from "../../../crds/staging/staging.ts";
import { Pod, Secret } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
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
import { planPod } from "./plan-pod.ts";
import { planEnvSecret, planRegistrySecret } from "./plan-secrets.ts";
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

/** @throws StagingFailure when no retry helps */
export async function startBuild(
  { registry, blobs }: BuildDeps,
  build: { staging: Staging; parameters: CnbParameters; secondsLeft: number },
  { read, client }: Pick<ReconcileContext, "read" | "client">,
): Promise<void> {
  const { staging, parameters, secondsLeft } = build;
  const content = await provideContent(staging, blobs);
  const builder = await readBuilderImage(parameters, registry);
  const runImage = parameters.runImage ?? builder.runImage;
  if (runImage === undefined)
    throw new StagingFailure(
      "StagingError",
      "the builder image names no run image: set the class's parameter runImage",
    );
  const order = toOrder(planOrder(staging.spec, builder, listDisabled(read)), builder);
  const images = toBuildImages(registry.prefix, staging.spec);
  const dockerConfig = await registry.readDockerConfig();
  const secrets = [
    planEnvSecret(staging, await readEnvironment(client, staging), order),
    ...(dockerConfig === undefined
      ? []
      : [planRegistrySecret(staging, dockerConfig, [images.image, images.cache, runImage])]),
  ];
  const pod = planPod({
    staging,
    builder,
    builderImage: builder.reference,
    platformImage: parameters.platformImage,
    runImage,
    images,
    content,
    registryPrefix: registry.prefix,
    insecureHosts: registry.insecureHosts,
    hasCredentials: dockerConfig !== undefined,
    order: order?.kind ?? "image",
    secondsLeft,
  });
  await Promise.all(secrets.map((secret) => createOnce(client, Secret, secret)));
  await createOnce(client, Pod, pod);
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
): { kind: "chosen" | "brought"; text: string } | undefined {
  if (!order) return undefined;
  return isOfImage(order)
    ? { kind: "chosen", text: toOrderToml(order) }
    : { kind: "brought", text: toPlacedFile(order, buildpacks) };
}

async function readEnvironment(client: KubeClient, { metadata, spec }: Staging): Promise<Record<string, string>> {
  try {
    return await resolveEnvironment(client, metadata.namespace ?? "", spec.env);
  } catch (cause) {
    if (cause instanceof KubeError) throw cause;
    throw new StagingFailure("StagingError", cause instanceof Error ? cause.message : String(cause), { cause });
  }
}
