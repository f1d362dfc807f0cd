// Which folder a Staging means by a buildpack's name or path.
import { isAbsolute, join } from "node:path";
import { StagingFailure } from "./lifecycle/failure.ts";

/** The buildpacks that come with this builder, in the order of detection. */
export const ownBuildpacks = ["nodejs", "staticfile", "procfile"] as const;

/** The folder of one of our own. */
export function ownFolder(name: (typeof ownBuildpacks)[number]): string {
  return join(import.meta.dirname, "buildpacks", name);
}

/** Folders in the order given; all of ours when none is. @throws StagingFailure for an address that this builder cannot use */
export function toFolders(buildpacks: readonly { name: string; path?: string }[]): string[] {
  return buildpacks.length === 0 ? ownBuildpacks.map(ownFolder) : buildpacks.map(toFolder);
}

function toFolder({ name, path }: { name: string; path?: string }): string {
  const wanted = path ?? name;
  if (isAbsolute(wanted)) return wanted;
  // Classic names are taken for ours, so that a manifest written for another Cloud Foundry works.
  const own = ownBuildpacks.find((one) => [one, `${one}_buildpack`, `cupola/${one}`].includes(wanted.toLowerCase()));
  if (own) return ownFolder(own);
  throw new StagingFailure("NoBuildpacksFound", `the builder host cannot use ${wanted}: it takes ${ownBuildpacks.join(", ")} and folders of Cloud Native Buildpacks by absolute path`);
}
