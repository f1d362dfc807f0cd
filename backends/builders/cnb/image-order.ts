// The order of a builder image's groups, and the same as a list of buildpacks, which is what positions are. Pure.
import type { OrderGroup } from "./builder-image.ts";

/** By whose position a group is tried: its first buildpack that must take part. */
export function leaderOf(group: OrderGroup): string | undefined {
  return (group.find(({ optional }) => !optional) ?? group[0])?.id;
}

/** The ids of an order, each once: those that lead a group, in the order of the groups, then those that lead none. */
export function listByLeaders(order: readonly OrderGroup[]): string[] {
  return [...new Set([...order.flatMap((group) => leaderOf(group) ?? []), ...listByAppearance(order)])];
}

function listByAppearance(order: readonly OrderGroup[]): string[] {
  return [...new Set(order.flat().map(({ id }) => id))];
}

/**
 * Whether ids by position say nothing that the image's order does not say. A list cannot say it all: an optional buildpack behind several leaders may lead
 * a group of its own, too. Earlier versions gave positions by the first appearance.
 */
export function isImageOrder(ids: readonly string[], order: readonly OrderGroup[]): boolean {
  return [listByLeaders(order), listByAppearance(order)].some((list) => {
    const places = ids.map((id) => list.indexOf(id));
    return places.every((place, at) => at === 0 || place > (places[at - 1] ?? 0));
  });
}
