// Items of a list in order, kept current change by change. Pure.
import { firstFailing } from "../../kube/api/binary-search.ts";
import type { ObjectChange } from "../cache/change-log.ts";

/** Items of a list, and their order. */
export interface ItemOrder<Item> {
  /** Place of an item among others. */
  compare(one: Item, other: Item): number;
  /** uid of the object that an item is, or is part of. */
  ownerOf(item: Item): string;
  /** Where the items are objects in the order of their creation: compares an item with a place, as `compare` does. Saves a walk over all items. */
  compareToPlace?: ((item: Item, place: string) => number) | undefined;
}

/** The items without those of the changed objects, and with `added`. A new array. */
export function withChanges<Item>(
  items: readonly Item[],
  { changes, added }: { changes: readonly ObjectChange[]; added: readonly Item[] },
  order: ItemOrder<Item>,
): Item[] {
  const kept = order.compareToPlace ? withoutPlaces(items, changes, order) : withoutOwners(items, changes, order);
  for (const item of added)
    kept.splice(
      firstFailing(0, kept.length, (at) => order.compare(kept[at] as Item, item) < 0),
      0,
      item,
    );
  return kept;
}

function withoutOwners<Item>(
  items: readonly Item[],
  changes: readonly ObjectChange[],
  { ownerOf }: ItemOrder<Item>,
): Item[] {
  const changed = new Set(changes.map(({ uid }) => uid));
  return items.filter((item) => !changed.has(ownerOf(item)));
}

/** Looks where the objects were, and nowhere else. */
function withoutPlaces<Item>(
  items: readonly Item[],
  changes: readonly ObjectChange[],
  { compareToPlace = () => 0 }: ItemOrder<Item>,
): Item[] {
  const kept = items.slice();
  for (const { placeBefore } of changes) {
    const at = firstFailing(0, kept.length, (place) => compareToPlace(kept[place] as Item, placeBefore) < 0);
    if (at < kept.length && compareToPlace(kept[at] as Item, placeBefore) === 0) kept.splice(at, 1);
  }
  return kept;
}
