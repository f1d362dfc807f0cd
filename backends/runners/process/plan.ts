// Plans which instances of an LRP to start, stop and restart. Pure.
import { wantedIndexes } from "../../../crds/lrp/index-pool.ts";
import type { LRP } from "../../../crds/lrp/lrp.ts";

/** The open slots: each index with the restart value that its instance has answered. */
export type OpenSlots = readonly { index: number; restart: string | undefined }[];

export interface SlotPlan {
  /** Ascending. */
  open: number[];
  /** Highest index first. */
  close: number[];
  restart: { index: number; value: string }[];
}

/** Compares the open slots with the LRP's spec. */
export function planSlots(
  open: OpenSlots,
  spec: Pick<LRP["spec"], "instances" | "indexes" | "restartInstances">,
): SlotPlan {
  const current = new Set(open.map((slot) => slot.index));
  const indexes = wantedIndexes(spec);
  const wanted = new Set(indexes);
  return {
    open: indexes.filter((index) => !current.has(index)),
    close: open
      .map((slot) => slot.index)
      .filter((index) => !wanted.has(index))
      .sort((a, b) => b - a),
    restart: open.flatMap((slot) => {
      const value = wanted.has(slot.index) ? restartValue(spec, slot.index) : undefined;
      return value !== undefined && value !== slot.restart ? [{ index: slot.index, value }] : [];
    }),
  };
}

/** The restart value in the spec for this index. */
export function restartValue(spec: Pick<LRP["spec"], "restartInstances">, index: number): string | undefined {
  return spec.restartInstances?.[String(index)];
}
