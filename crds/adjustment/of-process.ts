// The adjustments of a process as a Revision records them and an LRP carries them. Pure.
import type { BackendClass } from "../backend-class/backend-class.ts";
import type { Adjustment } from "./adjustment.ts";
import { ADJUSTABLE, allowedFields, type AdjustableName } from "./adjustable.ts";
import { judgePatch, MAX_BYTES, type PodPatch } from "./judge.ts";
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

const ALL_FIELDS = Object.keys(ADJUSTABLE) as AdjustableName[];

/** The patch that `findPatch` wrote. Of one that somebody else wrote into an LRP, such as a stolen hub, only fields that can be adjusted are left. */
export function parsePatch(text: string): PodPatch {
  return judgePatch(parseJSON(text), ALL_FIELDS, { maxBytes: MAX_ADJUSTMENTS * MAX_BYTES }).patch;
}

function parseJSON(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Maps have no order: equal patches are equal texts. */
function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([name, inner]) => [name, sortKeys(inner)]));
}
