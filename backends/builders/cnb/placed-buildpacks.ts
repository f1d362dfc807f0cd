// The file that tells the first container of a build which buildpacks it puts beside those of the builder image, and what the order of all is. Pure.
import { stringify } from "smol-toml";
import { z } from "zod";

/** A buildpack of the builder image; an uploaded one by the digest of its content; one of an image that a user named. */
const entry = z.union([
  z.object({ id: z.string(), version: z.string(), optional: z.boolean().optional() }),
  z.object({ content: z.string(), name: z.string() }),
  z.object({ image: z.string(), name: z.string() }),
]);
const placedBuildpacks = z.object({
  /** Buildpacks that are in the builder image. */
  inImage: z.array(z.object({ id: z.string(), version: z.string() })),
  /** Groups of the order. */
  order: z.array(z.array(entry)),
});

export type PlacedEntry = z.output<typeof entry>;
export type PlacedGroup = readonly PlacedEntry[];
export type PlacedBuildpacks = z.output<typeof placedBuildpacks>;
/** An entry that the builder image does not have. */
export type BroughtEntry = Exclude<PlacedEntry, { id: string }>;

/** Where the builder image has its buildpacks. */
const IMAGE_FOLDER = "/cnb/buildpacks";

export function isBrought(one: PlacedEntry): one is BroughtEntry {
  return !("id" in one);
}

/** Whether the order needs nothing but the builder image. */
export function isOfImage(order: readonly PlacedGroup[]): boolean {
  return !order.some((group) => group.some(isBrought));
}

/** The file of an order that needs more. @param buildpacks versions of the image's, by id */
export function toPlacedFile(
  order: readonly PlacedGroup[],
  buildpacks: ReadonlyMap<string, readonly string[]>,
): string {
  const inImage = [...buildpacks].flatMap(([id, versions]) => versions.map((version) => ({ id, version })));
  return JSON.stringify({ inImage, order });
}

/** @throws Error when the text is no such file */
export function parsePlacedFile(text: string): PlacedBuildpacks {
  return placedBuildpacks.parse(JSON.parse(text));
}

export interface BuildpackIdentity {
  id: string;
  version: string;
}

/** Where a buildpack is, relative to the folder of all. */
export function toBuildpackPath({ id, version }: BuildpackIdentity): string {
  return `${id.replaceAll("/", "_")}/${version}`;
}

/** Where the link of a buildpack of the image leads. */
export function toImagePath(buildpack: BuildpackIdentity): string {
  return `${IMAGE_FOLDER}/${toBuildpackPath(buildpack)}`;
}

function notInImage({ name }: BroughtEntry): never {
  throw new Error(`the buildpack ${name} is not in the builder image`);
}

/** The detector's order.toml. @param identify says which buildpack a brought entry is */
export function toOrderToml(
  order: readonly PlacedGroup[],
  identify: (entry: BroughtEntry) => BuildpackIdentity = notInImage,
): string {
  const toEntry = (one: PlacedEntry): object => {
    const { id, version } = isBrought(one) ? identify(one) : one;
    return { id, version, ...("optional" in one && one.optional && { optional: true }) };
  };
  return stringify({ order: order.map((group) => ({ group: group.map(toEntry) })) });
}
