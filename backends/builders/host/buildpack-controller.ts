// Says of each Buildpack that names a folder whether this builder can use it, and which buildpack and version it found there.
import { Buildpack } from "../../../crds/buildpack/buildpack.ts";
import { type Controller, defineController, type ReconcileResult } from "../../../kube/controller/controller.ts";
import { findBuildpack } from "./buildpack-folders.ts";
import { StagingFailure } from "./lifecycle/staging-failure.ts";

/** Nothing tells when a folder is put right. */
const recheckMs = 30_000;

/** Reads the folders; Ready is the platform's own, so this says it in the condition `Usable`. */
export function buildpackController(): Controller {
  return defineController({
    name: "buildpack-host",
    for: Buildpack,
    selects: ({ spec }) => spec.path !== undefined,
    condition: "Usable",
    reconcile: ({ spec }) => reconcileBuildpack({ name: spec.name, path: spec.path ?? "" }),
  });
}

async function reconcileBuildpack(buildpack: { name: string; path: string }): Promise<ReconcileResult> {
  try {
    const { id, version } = await findBuildpack(buildpack);
    return { status: { id, version }, ready: { status: "True", reason: "Found", message: "builder host can use it" } };
  } catch (error) {
    if (!(error instanceof StagingFailure)) throw error;
    return {
      status: { id: undefined, version: undefined },
      ready: { status: "False", reason: "CannotBeUsed", message: error.message },
      requeueAfterMs: recheckMs,
    };
  }
}
