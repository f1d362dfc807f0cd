// The segment in which the apps of a space run: its own choice, else its org's default, among those that the org may use. Pure.
import type { Org } from "../org/org.ts";
import type { Space } from "../space/space.ts";

/** Object name; undefined for the shared segment. One that the org may not use counts for nothing. */
export function chosenSegment(space: Space | undefined, org: Org | undefined): string | undefined {
  const chosen = [space?.spec.isolationSegment, org?.spec.defaultIsolationSegment];
  return chosen.find((name) => name !== undefined && org?.spec.isolationSegments.includes(name));
}
