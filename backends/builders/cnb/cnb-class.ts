// Publishes the capabilities of the class, and says in its condition whether its parameters and its builder image can be used.
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { toBuildpackCapability } from "../../../crds/buildpack/builder-buildpacks.ts";
import { defineController, type Controller, type ReconcileResult } from "../../../kube/controller/controller.ts";
import { StagingFailure } from "../staging-failure.ts";
import { toBuilderImage, type BuilderImage } from "./builder-image.ts";
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
    reconcile: (object) => reconcileClass(object, registry),
  });
}

async function reconcileClass(object: BackendClass, registry: BuildRegistry): Promise<ReconcileResult> {
  const parsed = parseParameters(object.spec.parameters);
  if ("problems" in parsed) return planUnusable("ParametersInvalid", parsed.problems.join("; "));
  try {
    const builder = await readBuilderImage(parsed.parameters, registry);
    return { status: { capabilities: { ...CAPABILITIES, ...describeBuilder(builder) } }, requeueAfterMs: RECHECK_MS };
  } catch (error) {
    if (!(error instanceof StagingFailure)) throw error;
    return { ...planUnusable("BuilderImageUnusable", error.message), requeueAfterMs: RECHECK_MS };
  }
}

function planUnusable(reason: string, message: string): ReconcileResult {
  return { status: { capabilities: CAPABILITIES }, ready: { status: "False", reason, message, isFailure: true } };
}

function describeBuilder({ stack, buildpacks, platformAPI }: BuilderImage): Record<string, string> {
  return { platformAPI, ...(stack && { stack }), ...toBuildpackCapability([...buildpacks.keys()]) };
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
