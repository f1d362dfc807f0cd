// The adjustments of a process as a Revision records them and an LRP carries them. Pure.
import type { BackendClass } from "../backend-class/backend-class.ts";
import type { Adjustment } from "./adjustment.ts";
import { allowedFields } from "./adjustable.ts";
import { judgePatch, type PodPatch } from "./judge.ts";
import { foldPatches } from "./merge.ts";

/** Adjustments of a process that act: the first by name. Each Revision carries them all. */
export const MAX_ADJUSTMENTS = 4;

/** The adjustments of a process that act, in their order. */
export function listActing(process: string, adjustments: readonly Adjustment[]): Adjustment[] {
  return adjustments
    .filter(({ spec, metadata }) => spec.processRef.name === process && !metadata.deletionTimestamp)
    .toSorted((one, other) => (one.metadata.name < other.metadata.name ? -1 : 1))
    .slice(0, MAX_ADJUSTMENTS);
}

/** The patch of a process's adjustments on a runner's class; undefined where nothing is adjusted. */
export function findPatch(
  process: string,
  adjustments: readonly Adjustment[],
  backend: Pick<BackendClass, "spec" | "status">,
): string | undefined {
  const allowed = allowedFields(backend);
  const patches = listActing(process, adjustments).map(({ spec }) => judgePatch(spec.patch, allowed).patch);
  const patch = foldPatches(patches);
  return Object.keys(patch).length === 0 ? undefined : JSON.stringify(sortKeys(patch));
}

/** The patch that `findPatch` wrote. */
export function parsePatch(text: string): PodPatch {
  return JSON.parse(text) as PodPatch;
}

/** Maps have no order: equal patches are equal texts. */
function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([name, inner]) => [name, sortKeys(inner)]));
}
