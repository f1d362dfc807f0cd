// The Revisions that cf shows. Pure.
import type { Revision } from "./revision.ts";

/** The first Revision of each version that cf knows, oldest first. A restart with nothing new repeats the version of the one before. */
export function listReleases(revisions: readonly Revision[]): Revision[] {
  const first = new Map<number, Revision>();
  for (const revision of revisions.toSorted((a, b) => a.spec.version - b.spec.version)) {
    const { release } = revision.spec;
    if (release !== undefined && !first.has(release)) first.set(release, revision);
  }
  return [...first.values()];
}

/** The Revision that cf shows for this one, among those of its app. */
export function findRelease(revision: Revision, revisions: readonly Revision[]): Revision | undefined {
  const same = revisions.filter(({ spec }) => spec.release !== undefined && spec.release === revision.spec.release);
  return same.toSorted((a, b) => a.spec.version - b.spec.version)[0];
}
