// Which buildpacks of the builder image build an app: the named ones as one group, or the image's own order. Pure.
import { stringify } from "smol-toml";
import { resolveBuildpackName } from "../../../crds/buildpack/builder-buildpacks.ts";
import { hideUserinfo } from "../../../crds/hide-userinfo.ts";
import type { Staging } from "../../../crds/staging/staging.ts";
import { StagingFailure } from "../staging-failure.ts";
import type { BuilderImage } from "./builder-image.ts";

type Wanted = Pick<Staging["spec"], "buildpacks" | "detect">;

/**
 * The contents of order.toml for the named buildpacks; undefined when the image's own order detects.
 * @throws StagingFailure for a name that is not in the image
 */
export function planOrder({ buildpacks, detect }: Wanted, image: Pick<BuilderImage, "buildpacks">): string | undefined {
  if (detect || buildpacks.length === 0) return undefined;
  const group = buildpacks.map(({ name }) => findInImage(name, image.buildpacks));
  return stringify({ order: [{ group }] });
}

function findInImage(name: string, known: BuilderImage["buildpacks"]): { id: string; version: string } {
  const { ids: matches, version } = resolveBuildpackName(name, [...known.keys()]);
  const [id] = matches;
  if (id === undefined || matches.length > 1) throw notFound(name, matches, known);
  const versions = known.get(id) ?? [];
  const chosen = version ?? newest(versions);
  if (chosen === undefined || !versions.includes(chosen))
    throw new StagingFailure(
      "NoBuildpacksFound",
      `the builder image has ${id} in version ${versions.join(", ")}, not ${version}`,
    );
  return { id, version: chosen };
}

function notFound(name: string, matches: readonly string[], known: BuilderImage["buildpacks"]): StagingFailure {
  const shown = hideUserinfo(name);
  if (matches.length > 1)
    return new StagingFailure("NoBuildpacksFound", `${shown} can be ${matches.join(" or ")}: name one of them in full`);
  return new StagingFailure(
    "NoBuildpacksFound",
    `the builder image has no buildpack ${shown}; it has ${[...known.keys()].toSorted().join(", ") || "none"}`,
  );
}

function newest(versions: readonly string[]): string | undefined {
  return versions.toSorted((a, b) => b.localeCompare(a, "en", { numeric: true }))[0];
}
