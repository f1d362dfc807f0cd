// Starts one build: reads what it needs, then creates its Secrets and its Pod. Repeating it creates nothing twice.
import { Readable } from "node:stream";
import { packMembers } from "../../../blobs/archive/tar.ts";
import type { BlobStore } from "../../../blobs/blob-store.ts";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import type { Staging } from "../../../crds/staging/staging.ts";
import { Pod, Secret } from "../../../kube/api/builtin.ts";
import type { Draft, KubeClient } from "../../../kube/client/client.ts";
import { isAlreadyExists, KubeError } from "../../../kube/client/errors.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import type { ReconcileContext } from "../../../kube/controller/controller.ts";
import { resolveEnvironment } from "../../host/resolve-environment.ts";
import { StagingFailure } from "../staging-failure.ts";
import { toBuildImages } from "./build-paths.ts";
import { planOrder } from "./buildpack-order.ts";
import { CNB_CLASS, readBuilderImage } from "./cnb-class.ts";
import { parseParameters, type CnbParameters } from "./parameters.ts";
import { planPod } from "./plan-pod.ts";
import { planEnvSecret, planRegistrySecret } from "./plan-secrets.ts";
import type { BuildRegistry } from "./registry-images.ts";

export interface BuildDeps {
  registry: BuildRegistry;
  blobs: Pick<BlobStore, "put">;
}

/** Inline files of a Staging fit into an object, so this bounds nothing that a user may do. */
const MAX_INLINE_BYTES = 16 * 2 ** 20;

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
  client: KubeClient,
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
  const order = planOrder(staging.spec, builder);
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
    hasOrder: order !== undefined,
    secondsLeft,
  });
  await Promise.all(secrets.map((secret) => createOnce(client, Secret, secret)));
  await createOnce(client, Pod, pod);
}

/** The digest of the package's content. Files of the Staging itself become content first. */
async function provideContent(staging: Staging, blobs: BuildDeps["blobs"]): Promise<string> {
  const { content, files } = staging.spec.package;
  if (content) return content.digest;
  if (!files) throw new StagingFailure("StagingError", `the builder ${CNB_CLASS} builds packages of type bits only`);
  const members = Object.entries(files).map(([path, text]) => {
    const bytes = Buffer.from(text);
    const open = (): Readable => Readable.from([bytes]);
    return { path, type: "file" as const, mode: 0o644, size: bytes.length, content: open };
  });
  const { digest } = await blobs.put(staging.spec.space.guid, "package", packMembers(members), {
    maxBytes: MAX_INLINE_BYTES,
  });
  return digest;
}

async function readEnvironment(client: KubeClient, { metadata, spec }: Staging): Promise<Record<string, string>> {
  try {
    return await resolveEnvironment(client, metadata.namespace ?? "", spec.env);
  } catch (cause) {
    if (cause instanceof KubeError) throw cause;
    throw new StagingFailure("StagingError", cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

async function createOnce(client: KubeClient, ref: ResourceRef, draft: Draft): Promise<void> {
  try {
    await client.create(ref, draft);
  } catch (error) {
    if (isAlreadyExists(error)) return;
    throw toFailure(error, draft);
  }
}

/** Quotas, Pod Security and limit ranges refuse what no retry changes. Rights come later in a new space. */
function toFailure(error: unknown, { kind }: Draft): unknown {
  if (!(error instanceof KubeError) || (error.code !== 403 && error.code !== 422)) return error;
  if (/cannot create resource|being terminated/.test(error.message)) return error;
  const isQuota = /exceeded quota/.test(error.message);
  return new StagingFailure(
    isQuota ? "InsufficientResources" : "StagingError",
    `the cluster refuses the build's ${kind}: ${error.message}`,
    { cause: error },
  );
}
