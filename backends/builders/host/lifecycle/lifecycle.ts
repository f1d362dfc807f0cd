// The Cloud Native Buildpacks lifecycle without containers: from an app directory and buildpack folders to a droplet's directory.
import { ROOT_LABEL } from "../../../../blobs/droplet/receive-droplet.ts";
import { writeMetadata, type DropletMetadata } from "../../../host/droplet-metadata.ts";
import { build } from "./build.ts";
import { type Buildpack, loadBuildpack } from "./buildpack.ts";
import { saveLayers } from "./cache.ts";
import { detect } from "./detect.ts";
import { makeWorkspace, type Workspace } from "./environment.ts";
import { StagingFailure } from "../../staging-failure.ts";
import { keepLaunchLayers } from "./layers.ts";
import { expandOrder } from "./order.ts";
import type { LineSink } from "./run-executable.ts";

/** Input of a build. Directories are absolute. */
export interface LifecycleOptions {
  workspace: Workspace;
  /** Folders of buildpacks, in order. */
  buildpacks: readonly string[];
  /** True: the first one that fits builds. False: all of them build, in order. */
  detect: boolean;
  /** Further folders, for the components of composites. `companion` joins the end of every group if it detects anything. */
  available: readonly string[];
  companionBuildpack?: string;
  /** The cache of this app. */
  cache: string;
  log: LineSink;
}

/** Builds in place: afterwards `<root>/app` and `<root>/layers` are the droplet. @throws StagingFailure */
export async function runLifecycle(options: LifecycleOptions): Promise<DropletMetadata> {
  const { workspace, log } = options;
  const chosen = await loadAll(options.buildpacks);
  if (chosen.length === 0)
    throw new StagingFailure(
      "NoBuildpacksFound",
      "no buildpack is enabled; see cf buildpacks, or name one: cf push APP -b docker://IMAGE",
    );
  const others = await loadAll([
    ...options.available,
    ...(options.companionBuildpack ? [options.companionBuildpack] : []),
  ]);
  await makeWorkspace(workspace);
  const groups = expandOrder(
    toOrder(
      chosen,
      others.find((one) => one.directory === options.companionBuildpack),
      options.detect,
    ),
    [...chosen, ...others],
  );
  const detected = await detect({ workspace, groups, forced: !options.detect, log });
  const named = detected.buildpacks.map((buildpack) => {
    const found = detected.found.get(buildpack);
    return `${buildpack.name} ${buildpack.version}${found ? ` (${found})` : ""}`;
  });
  log("OUT", `Building with ${named.join(", ")}`);
  const built = await build({ workspace, detected, cache: options.cache, log });
  await saveLayers(options.cache, built.layers);
  for (const { directory, layers } of built.layers) await keepLaunchLayers(directory, layers);
  // Whoever downloads the droplet can tell where its layers belong.
  const labels = { ...built.metadata.labels, [ROOT_LABEL]: workspace.root };
  await writeMetadata(workspace.root, { ...built.metadata, labels });
  return built.metadata;
}

async function loadAll(directories: readonly string[]): Promise<Buildpack[]> {
  return Promise.all([...new Set(directories)].map(loadBuildpack));
}

/** With detection each buildpack is a group of its own; without, all of them are one group. */
function toOrder(chosen: readonly Buildpack[], companionBuildpack: Buildpack | undefined, detecting: boolean) {
  const entry = ({ id, version }: Buildpack) => ({ id, version, optional: false });
  const groups = detecting ? chosen.map((one) => [one]) : [chosen];
  return groups.map((group) => {
    const alone = !companionBuildpack || group.some((one) => one.id === companionBuildpack.id);
    return [...group.map(entry), ...(alone ? [] : [{ ...entry(companionBuildpack), optional: true }])];
  });
}
