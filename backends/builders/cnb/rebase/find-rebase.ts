// Reads what decides whether a build can be a rebase.
import { presentImageError, type BuildRegistry, type InspectedImage } from "../../registry-images.ts";
import { StagingFailure } from "../../staging-failure.ts";
import type { PlacedGroup } from "../placed-buildpacks.ts";
import { isMadeOf, isPinned, planRebase, type RebasePlan } from "./rebase-decision.ts";

export interface RebaseQuestion {
  /** The name of the app's last image. */
  latest: string;
  /** The digest of what this build is made of. */
  inputs: string;
  runImage: string;
  /** The buildpacks of this build; undefined for the builder image's own order. */
  order: readonly PlacedGroup[] | undefined;
}

/**
 * Undefined when a build is needed. @throws RegistryError when the registry is away
 */
export async function findRebase(
  registry: Pick<BuildRegistry, "inspect">,
  { latest, inputs, runImage, order }: RebaseQuestion,
): Promise<RebasePlan | undefined> {
  if (order && !isPinned(order)) return undefined;
  const last = await findImage(registry, latest);
  if (!last || !isMadeOf(last.config, inputs)) return undefined;
  try {
    const { config } = await registry.inspect(runImage);
    return planRebase(last, { name: runImage, config });
  } catch {
    // The build's own phases say what is wrong with the run image.
    return undefined;
  }
}

async function findImage(registry: Pick<BuildRegistry, "inspect">, image: string): Promise<InspectedImage | undefined> {
  try {
    return await registry.inspect(image);
  } catch (error) {
    // The app's first build. Some registries refuse to read a repository that does not exist.
    if (presentImageError(error, image) instanceof StagingFailure) return undefined;
    throw error;
  }
}
