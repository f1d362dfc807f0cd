// Which folder a Staging means by a buildpack's name or path.
import { readdir } from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";
import { loadBuildpack } from "./lifecycle/buildpack.ts";
import { StagingFailure } from "./lifecycle/failure.ts";

/** The buildpacks that come with this builder, in the order of detection. */
export const ownBuildpacks = ["nodejs", "staticfile", "procfile"] as const;

/** The folder of one of our own. */
export function ownFolder(name: (typeof ownBuildpacks)[number]): string {
  return join(import.meta.dirname, "buildpacks", name);
}

/** A buildpack as the Staging names it, and where it is. */
export interface NamedFolder {
  name: string;
  folder: string;
}

/** Folders in the order given; all of ours when none is. @throws StagingFailure for an address that this builder cannot use */
export function toFolders(buildpacks: readonly { name: string; path?: string }[]): NamedFolder[] {
  if (buildpacks.length === 0) return ownBuildpacks.map((name) => ({ name, folder: ownFolder(name) }));
  return buildpacks.map(({ name, path }) => ({ name, folder: toFolder(path ?? name) }));
}

function toFolder(wanted: string): string {
  if (isAbsolute(wanted)) return wanted;
  // Classic names are taken for ours, so that a manifest written for another Cloud Foundry works.
  const own = ownBuildpacks.find((one) => [one, `${one}_buildpack`, `cupola/${one}`].includes(wanted.toLowerCase()));
  if (own) return ownFolder(own);
  throw new StagingFailure("NoBuildpacksFound", `the builder host cannot use ${wanted}: it takes ${ownBuildpacks.join(", ")} and folders of Cloud Native Buildpacks by absolute path`);
}

/** The buildpacks that lie beside a composite one: its parts, if they are not ours. A folder beside it that is no buildpack is passed over. */
export async function neighboursOf(chosen: readonly NamedFolder[]): Promise<string[]> {
  const composites = await Promise.all(chosen.map(async ({ folder }) => ((await loadBuildpack(folder)).order ? [folder] : [])));
  const parents = [...new Set(composites.flat().map(dirname))];
  const beside = await Promise.all(parents.map(async (parent) => (await readdir(parent)).map((name) => join(parent, name))));
  const usable = await Promise.all(beside.flat().map((folder) => loadBuildpack(folder).then(() => [folder], () => [])));
  return usable.flat();
}
