// Expands orders with composites into groups of components, which are tried together. Pure.
import type { Buildpack, GroupEntry } from "./buildpack.ts";
import { StagingFailure } from "../../staging-failure.ts";

/** A component at its position in a group. */
export interface GroupMember {
  buildpack: Buildpack;
  optional: boolean;
}

const maxGroups = 1000;
const maxNesting = 10;

/**
 * Expands an order depth-first, left to right: each group of a composite takes the composite's place in turn.
 * @throws StagingFailure when an entry is not among `available`
 */
export function expandOrder(
  order: readonly (readonly GroupEntry[])[],
  available: readonly Buildpack[],
  depth = 0,
): GroupMember[][] {
  if (depth > maxNesting)
    throw new StagingFailure("StagingError", "the buildpacks' orders are nested too deeply, or in a circle");
  const groups = order.flatMap((group) => expandGroup(group, available, depth));
  if (groups.length > maxGroups)
    throw new StagingFailure("StagingError", `the order has more than ${maxGroups} groups`);
  return groups;
}

function expandGroup(group: readonly GroupEntry[], available: readonly Buildpack[], depth: number): GroupMember[][] {
  let expanded: GroupMember[][] = [[]];
  for (const entry of group) {
    const buildpack = findBuildpack(entry, available);
    const alternatives: GroupMember[][] = buildpack.order
      ? expandOrder(buildpack.order, available, depth + 1)
      : [[{ buildpack, optional: entry.optional }]];
    if (buildpack.order && entry.optional) alternatives.push([]);
    expanded = expanded.flatMap((members) => alternatives.map((more) => [...members, ...more]));
    if (expanded.length > maxGroups)
      throw new StagingFailure("StagingError", `the order has more than ${maxGroups} groups`);
  }
  return expanded.filter((members) => members.length > 0);
}

function findBuildpack(entry: GroupEntry, available: readonly Buildpack[]): Buildpack {
  const found = available.find(
    (buildpack) => buildpack.id === entry.id && (!entry.version || buildpack.version === entry.version),
  );
  if (!found)
    throw new StagingFailure(
      "NoBuildpacksFound",
      `the buildpack ${entry.id}${entry.version ? ` ${entry.version}` : ""} is in an order, but is not installed`,
    );
  return found;
}
