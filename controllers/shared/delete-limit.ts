// How many objects may leave a cluster within ten minutes without a word of a person: many at once are more likely an accident than a wish. Pure.

export const DELETE_WINDOW_MS = 10 * 60_000;
const SMALL_BATCH = 20;
const SHARE = 0.3;

/** `lrps`: number of LRPs of this platform on the cluster. */
export function deleteLimit(lrps: number): number {
  return Math.max(SMALL_BATCH, Math.floor(lrps * SHARE));
}
