// Publishes the capabilities of the class, says in its condition whether its parameters and its builder image can be used, and keeps a Buildpack for each
// buildpack of the image's order.
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { toDropletCapabilities } from "../../../crds/backend-class/droplet-place.ts";
import { toBuildpackCapability } from "../../../crds/buildpack/builder-buildpacks.ts";
import { Buildpack } from "../../../crds/buildpack/buildpack.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import {
  defineController,
  watch,
  type Controller,
  type ReconcileContext,
  type ReconcileResult,
} from "../../../kube/controller/controller.ts";
import { ignoreGone } from "../../../kube/client/ignore-gone.ts";
import { StagingFailure } from "../staging-failure.ts";
import { toBuilderImage, type BuilderImage } from "./builder-image.ts";
import { planImageBuildpacks, type ImageBuildpacksPlan } from "./image-buildpacks.ts";
import { parseParameters, type CnbParameters } from "./parameters.ts";
import { presentImageError, type BuildRegistry } from "../registry-images.ts";

/** The name of this class. */
export const CNB_CLASS = "cnb";

const CAPABILITIES: Readonly<Record<string, string>> = {
  lifecycles: "buildpack,cnb",
  dropletKinds: "cnb",
  isolation: "pod",
  memoryLimit: "enforced",
  diskLimit: "evicts",
};

/** The builder image may change behind its tag, and a registry may come back, without an event. */
const RECHECK_MS = 300_000;

export function cnbClassController(registry: BuildRegistry): Controller {
  return defineController({
    name: `class-${CNB_CLASS}`,
    for: BackendClass,
    selects: ({ metadata, spec }) => metadata.name === CNB_CLASS && spec.role === "builder",
    reads: [Buildpack],
    // Only created and deleted ones: those of the image have statuses, and come again.
    watches: [watch(Buildpack, ({ spec }) => (spec.builder === CNB_CLASS ? [{ name: CNB_CLASS }] : []))],
    permissions: [
      { resource: Buildpack, verbs: ["create", "patch", "delete"] },
      { resource: Buildpack, subresource: "status", verbs: ["patch"] },
    ],
    reconcile: (object, context) => reconcileClass(object, registry, context),
  });
}

async function reconcileClass(
  object: BackendClass,
  registry: BuildRegistry,
  context: ReconcileContext,
): Promise<ReconcileResult> {
  const parsed = parseParameters(object.spec.parameters);
  if ("problems" in parsed) return planUnusable("ParametersInvalid", parsed.problems.join("; "));
  try {
    const builder = await readBuilderImage(parsed.parameters, registry);
    const plan = planImageBuildpacks(object, builder, context.read.list(Buildpack, { namespace: SYSTEM_NAMESPACE }));
    await updateBuildpacks(plan, context.client);
    return {
      createOnce: plan.create,
      status: { capabilities: { ...CAPABILITIES, ...describeBuilder(builder, parsed.parameters) } },
      requeueAfterMs: RECHECK_MS,
    };
  } catch (error) {
    if (!(error instanceof StagingFailure)) throw error;
    return { ...planUnusable("BuilderImageUnusable", error.message), requeueAfterMs: RECHECK_MS };
  }
}

/** Several replicas may reconcile at once without harm. */
async function updateBuildpacks({ remove, identify }: ImageBuildpacksPlan, client: KubeClient): Promise<void> {
  for (const { metadata } of remove)
    await ignoreGone(
      client.delete(Buildpack, toKey(metadata), { preconditions: { ...(metadata.uid && { uid: metadata.uid }) } }),
    );
  for (const { buildpack, status } of identify)
    await ignoreGone(
      client.patch(
        Buildpack,
        toKey(buildpack.metadata),
        { type: "merge", body: { status } },
        { subresource: "status" },
      ),
    );
}

function toKey({ namespace, name }: Buildpack["metadata"]): { namespace?: string; name: string } {
  return { ...(namespace && { namespace }), name };
}

function planUnusable(reason: string, message: string): ReconcileResult {
  return { status: { capabilities: CAPABILITIES }, ready: { status: "False", reason, message, isFailure: true } };
}

function describeBuilder(
  { stack, buildpacks, platformAPI, ...builder }: BuilderImage & { reference: string },
  parameters: CnbParameters,
): Record<string, string> {
  const images = { runImage: parameters.runImage ?? builder.runImage, builderImage: builder.reference };
  return {
    platformAPI,
    ...(stack && { stack }),
    ...toBuildpackCapability([...buildpacks.keys()]),
    ...toDropletCapabilities(images, builder),
  };
}

/** The builder image of the parameters, with its reference by digest. @throws StagingFailure when no retry helps, else the registry's error */
export async function readBuilderImage(
  { builderImage }: Pick<CnbParameters, "builderImage">,
  registry: BuildRegistry,
): Promise<BuilderImage & { reference: string }> {
  try {
    const { reference, config } = await registry.inspect(builderImage);
    return { ...toBuilderImage(config), reference };
  } catch (error) {
    throw presentImageError(error, `the builder image ${builderImage} cannot be read`);
  }
}
