// Which buildpacks build an app, in which order: of the builder image, uploaded, or by address. Pure.
import { resolveBuildpackName } from "../../../crds/buildpack/builder-buildpacks.ts";
import { hideUserinfo } from "../../../crds/hide-userinfo.ts";
import type { Staging } from "../../../crds/staging/staging.ts";
import { StagingFailure } from "../staging-failure.ts";
import type { BuilderImage, OrderEntry, OrderGroup } from "./builder-image.ts";
import { isImageOrder, leaderOf } from "./image-order.ts";
import type { PlacedEntry, PlacedGroup } from "./placed-buildpacks.ts";

type Wanted = Pick<Staging["spec"], "buildpacks" | "detect">;
type WantedBuildpack = Wanted["buildpacks"][number];
type Image = Pick<BuilderImage, "buildpacks" | "order">;

const IMAGE_SCHEME = "docker://";

/**
 * The groups that the detector tries: with `detect` by the Staging's order, else one group of all its buildpacks and the
 * image's optional ones. Undefined when the image's own order says the same.
 * @param disabled ids of the image's buildpacks that an admin disabled: only a name brings one back. When the Staging lists none
 * of the image's, detection tries the others.
 * @throws StagingFailure for a name that this builder cannot resolve, or when nothing is left to try
 */
export function planOrder(
  { buildpacks, detect }: Wanted,
  image: Image,
  disabled: ReadonlySet<string>,
): PlacedGroup[] | undefined {
  if (!detect) return buildpacks.length === 0 ? undefined : [planNamed(buildpacks, image, disabled)];
  const ids = listIds(image);
  const enabled = new Set([...ids].filter((id) => !disabled.has(id)));
  if (enabled.size === ids.size && buildpacks.every((one) => !one.content && idInImage(one, ids) === undefined))
    return undefined;
  const groups = planDetection(buildpacks, image, { ids, enabled });
  if (groups.length === 0)
    throw new StagingFailure(
      "NoBuildpacksFound",
      "no group of the builder image's order has all its buildpacks enabled; cf buildpacks shows which are not",
    );
  return isSame(groups, image.order) ? undefined : groups;
}

/** The image's buildpacks that detection can try. */
function listIds({ order, buildpacks }: Image): ReadonlySet<string> {
  return new Set(order.length > 0 ? order.flat().map(({ id }) => id) : buildpacks.keys());
}

/**
 * CF's buildpacks honour a Procfile. Here that is an optional buildpack at the end of the image's groups, so the enabled
 * optional ones of the groups that have a named buildpack follow, of all groups where none has.
 */
function planNamed(
  buildpacks: readonly WantedBuildpack[],
  { order, buildpacks: known }: Image,
  disabled: ReadonlySet<string>,
): PlacedGroup {
  const named = buildpacks.map((one) => toEntry(one, known));
  const ids = named.flatMap((entry) => ("id" in entry ? [entry.id] : []));
  const own = order.filter((group) => group.some(({ id }) => ids.includes(id)));
  const titles = new Set(ids.map(titleOf));
  const extras = listExtras(own.length > 0 ? own : order).filter(
    ({ id }) => !titles.has(titleOf(id)) && !disabled.has(id),
  );
  return [...named, ...toPlaced(known)(extras)];
}

/** Builders have the same buildpack by several vendors. */
function titleOf(id: string): string | undefined {
  return id.split("/").at(-1);
}

function toEntry(buildpack: WantedBuildpack, known: Image["buildpacks"]): PlacedEntry {
  const { name, path, content } = buildpack;
  if (content) return { content: content.digest, name };
  if (name.startsWith(IMAGE_SCHEME)) return { image: name.slice(IMAGE_SCHEME.length), name };
  return findInImage(path ?? name, known);
}

/**
 * An uploaded buildpack is a group of its own, beside the image's optional ones (as Procfile). A listed one of the image stands for the image's groups
 * that it leads, without those whose other members are not listed: in the image's order while no listed one was moved, else by the leaders' positions.
 * When none is listed, the image's groups follow, of what is enabled.
 */
function planDetection(
  buildpacks: readonly WantedBuildpack[],
  { order, buildpacks: known }: Image,
  { ids, enabled }: Record<"ids" | "enabled", ReadonlySet<string>>,
): PlacedGroup[] {
  const groups = order.length > 0 ? order : [...known.keys()].map((id): OrderGroup => [{ id }]);
  const listed = new Set(buildpacks.flatMap((one) => idInImage(one, ids) ?? []));
  const allowed = groups.flatMap((group) => withoutDisabled(group, listed.size === 0 ? enabled : listed));
  const extras = listExtras(allowed);
  const placed = allowed.map((group) => ({ leader: leaderOf(group), group: toPlaced(known)(group) }));
  const positions: Position[] = buildpacks.flatMap((one): Position[] => {
    if (one.content)
      return [{ uploaded: [{ content: one.content.digest, name: one.name }, ...toPlaced(known)(extras)] }];
    return idInImage(one, listed) === undefined ? [] : [{ id: one.path ?? one.name }];
  });
  if (listed.size === 0) return [...positions.flatMap(uploadedAt), ...placed.map(({ group }) => group)];
  return isImageOrder([...listed], groups) ? putBetween(placed, positions) : sortByLeaders(placed, positions);
}

/** A position of the list: an uploaded buildpack's group, or an id of the image. */
type Position = { uploaded: PlacedGroup } | { id: string };
type LedGroup = { leader: string | undefined; group: PlacedGroup };

function uploadedAt(position: Position): PlacedGroup[] {
  return "uploaded" in position ? [position.uploaded] : [];
}

/** The groups in the image's order; an uploaded one stands before the first that is led by one of a later position. */
function putBetween(groups: readonly LedGroup[], positions: readonly Position[]): PlacedGroup[] {
  const after = (at: number) => new Set(positions.slice(at).flatMap((one) => ("id" in one ? [one.id] : [])));
  const uploads = positions.flatMap((position, at) => {
    const later = after(at);
    const before = groups.findIndex(({ leader }) => leader !== undefined && later.has(leader));
    return uploadedAt(position).map((group) => ({ group, before: before < 0 ? groups.length : before }));
  });
  const uploadsBefore = (at: number): PlacedGroup[] =>
    uploads.filter(({ before }) => before === at).map(({ group }) => group);
  return [...groups.flatMap(({ group }, at) => [...uploadsBefore(at), group]), ...uploadsBefore(groups.length)];
}

function sortByLeaders(groups: readonly LedGroup[], positions: readonly Position[]): PlacedGroup[] {
  return positions.flatMap((position) =>
    "uploaded" in position
      ? [position.uploaded]
      : groups.filter(({ leader }) => leader === position.id).map(({ group }) => group),
  );
}

function idInImage({ name, path, content }: WantedBuildpack, ids: ReadonlySet<string>): string | undefined {
  const id = path ?? name;
  return !content && ids.has(id) ? id : undefined;
}

function withoutDisabled(group: OrderGroup, enabled: ReadonlySet<string>): OrderGroup[] {
  if (group.some(({ id, optional }) => !optional && !enabled.has(id))) return [];
  const left = group.filter(({ id }) => enabled.has(id));
  return left.length === 0 ? [] : [left];
}

/** The optional buildpacks that stand behind the leaders, each once. */
function listExtras(groups: readonly OrderGroup[]): OrderEntry[] {
  const behind = groups.flatMap((group) => {
    const leader = leaderOf(group);
    return group.slice(group.findIndex(({ id }) => id === leader) + 1).filter(({ optional }) => optional);
  });
  return behind.filter(({ id }, at) => behind.findIndex((other) => other.id === id) === at);
}

function toPlaced(known: Image["buildpacks"]): (group: OrderGroup) => PlacedGroup {
  return (group) =>
    group.map(({ id, version, optional }) => ({
      id,
      version: version ?? newest(known.get(id) ?? []) ?? "",
      ...(optional && { optional }),
    }));
}

function isSame(groups: readonly PlacedGroup[], order: readonly OrderGroup[]): boolean {
  const plain = (all: readonly (readonly object[])[]): string =>
    JSON.stringify(
      all.map((group) =>
        group.map((entry) => ("id" in entry ? [entry.id, "optional" in entry && entry.optional === true] : entry)),
      ),
    );
  return plain(groups) === plain(order);
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
  const isAddress = /^[a-z]+:\/\//.test(name);
  return new StagingFailure(
    "NoBuildpacksFound",
    isAddress
      ? `builds in Pods fetch no buildpack from ${shown}: name a buildpack that cf buildpacks lists, or docker://IMAGE, which pack buildpack package has made`
      : `the builder image has no buildpack ${shown}; it has ${[...known.keys()].toSorted().join(", ") || "none"}`,
  );
}

function newest(versions: readonly string[]): string | undefined {
  return versions.toSorted((a, b) => b.localeCompare(a, "en", { numeric: true }))[0];
}
