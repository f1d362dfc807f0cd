// Resolves a buildpack's name or path to its folder.
import { readdir } from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";
import type { Staging } from "../../../crds/staging/staging.ts";
import { hideUserinfo } from "../../../crds/hide-userinfo.ts";
import { bundledBuildpacks, bundledFolder } from "./bundled-buildpacks.ts";
import { isAddress, type ProvideFetched } from "./fetched-buildpacks.ts";
import { loadBuildpack } from "./lifecycle/buildpack.ts";
import type { ProvideUploaded } from "./uploaded-buildpacks.ts";
import { StagingFailure } from "../staging-failure.ts";

/** Names that other Cloud Foundries and Cloud Native Buildpacks use. */
const otherNames: Readonly<Record<string, string>> = {
  node: "nodejs",
  static: "staticfile",
  "static-website": "staticfile",
};

/** A buildpack's name in the Staging, and its folder. */
export interface NamedFolder {
  name: string;
  folder: string;
}

/** A folder that holds a buildpack which this builder can use. */
export interface UsableFolder extends NamedFolder {
  id: string;
  version: string;
  isComposite: boolean;
}

/** Where folders of buildpacks come from that are not on this machine. */
export interface ProvideFolders {
  uploaded: ProvideUploaded;
  fetched: ProvideFetched;
}

/** A buildpack as a Staging or a Buildpack names it. */
export type NamedBuildpack = Staging["spec"]["buildpacks"][number];

/** Resolves and reads one buildpack. The signal ends its fetch. @throws StagingFailure that says why it cannot be used */
export async function findBuildpack(
  buildpack: NamedBuildpack,
  provide: ProvideFolders,
  signal?: AbortSignal,
): Promise<UsableFolder> {
  const { name, path, content } = buildpack;
  const wanted = path ?? name;
  const fetchOrFind = () => (isAddress(wanted) ? provide.fetched(wanted, signal) : toFolder(wanted));
  const folder = content ? await provide.uploaded(content.digest) : await fetchOrFind();
  const { id, version, order } = await loadBuildpack(folder);
  return { name, folder, id, version, isComposite: order !== undefined };
}

interface FindOptions {
  /** The build's signal: its end or its deadline ends all fetches. */
  signal: AbortSignal;
  onUnusable: (why: string) => void;
}

/**
 * The buildpacks of a Staging. With `detect`, one that cannot be used is reported and skipped, since the app may fit another one;
 * without it, the user named it, and the build fails. @throws StagingFailure
 */
export async function findBuildpacks(
  { buildpacks, detect }: Pick<Staging["spec"], "buildpacks" | "detect">,
  provide: ProvideFolders,
  { signal, onUnusable }: FindOptions,
): Promise<UsableFolder[]> {
  const found = await Promise.all(
    buildpacks.map((one) =>
      findBuildpack(one, provide, signal).catch((error: unknown) => {
        signal.throwIfAborted();
        if (!detect || !(error instanceof StagingFailure)) throw error;
        onUnusable(`the buildpack ${hideUserinfo(one.name)} is skipped: ${error.message}`);
      }),
    ),
  );
  return found.filter((one) => one !== undefined);
}

/** @throws StagingFailure for a name that this builder cannot resolve */
export function toFolder(wanted: string): string {
  if (isAbsolute(wanted)) return wanted;
  // Classic names mean the bundled ones, so that a manifest written for another Cloud Foundry works.
  const plain = wanted
    .toLowerCase()
    .replace(/^cupola\//, "")
    .replace(/[-_]buildpack$/, "");
  const bundled = bundledBuildpacks.find((one) => one === (otherNames[plain] ?? plain));
  if (bundled) return bundledFolder(bundled);
  throw new StagingFailure(
    "NoBuildpacksFound",
    `the builder host cannot use ${hideUserinfo(wanted)}: it takes ${bundledBuildpacks.join(", ")}, and other Cloud Native Buildpacks by the absolute path of a folder, the URL of a git repository, or docker://IMAGE`,
  );
}

/** The buildpack folders beside a composite, which may be its components. Other folders beside it are skipped. */
export async function findSiblings(chosen: readonly UsableFolder[]): Promise<string[]> {
  const parents = [...new Set(chosen.filter((one) => one.isComposite).map(({ folder }) => dirname(folder)))];
  const siblings = await Promise.all(
    parents.map(async (parent) => (await readdir(parent)).map((name) => join(parent, name))),
  );
  const usable = await Promise.all(
    siblings.flat().map((folder) =>
      loadBuildpack(folder).then(
        () => [folder],
        () => [],
      ),
    ),
  );
  return usable.flat();
}
