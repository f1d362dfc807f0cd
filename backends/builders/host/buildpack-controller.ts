// Sets the condition Usable, the id and the version of each Buildpack that names a folder or was uploaded.
import { Buildpack } from "../../../crds/buildpack/buildpack.ts";
import { type Controller, defineController, type ReconcileResult } from "../../../kube/controller/controller.ts";
import { findBuildpack, type NamedBuildpack, type ProvideFolders } from "./buildpack-folders.ts";
import { StagingFailure } from "../staging-failure.ts";

/** A repaired folder causes no event, so it is read again after this time. */
const recheckMs = 30_000;

/** Reads the folders. The condition is `Usable`, since another controller owns `Ready`. */
export function buildpackController(provide: ProvideFolders): Controller {
  return defineController({
    name: "buildpack-host",
    for: Buildpack,
    selects: ({ spec }) => spec.builder === undefined && (spec.path !== undefined || spec.content !== undefined),
    condition: "Usable",
    reconcile: ({ spec: { name, path, content } }) =>
      reconcileBuildpack({ name, ...(content ? { content } : { path: path ?? "" }) }, provide),
  });
}

async function reconcileBuildpack(buildpack: NamedBuildpack, provide: ProvideFolders): Promise<ReconcileResult> {
  try {
    const { id, version } = await findBuildpack(buildpack, provide);
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
