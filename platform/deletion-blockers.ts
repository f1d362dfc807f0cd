// Names what an uninstallation waits for while it waits: an object that does not end, with the reason and a next step, once for each reason.
import type { KubeObject } from "../kube/api/object.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { describeBlocker, findProblem, listBlockers, type Remaining } from "./deletion-plan.ts";

/** Objects that are looked at; an uninstallation that names so many needs no more. */
const MAX_LOOKED_AT = 20;

/** An object's reason, since when, and whether that has been said. */
interface Seen {
  reason: string;
  since: number;
  isSaid: boolean;
}

/** Returns a function to call in each round of the deletion. `lastMs`: an object is named once it has had a reason for so long. */
export function watchBlockers(
  client: KubeClient,
  lastMs: number,
  report: (line: string) => void,
): (remaining: readonly Remaining[]) => Promise<void> {
  let lookedAt = -Infinity;
  let seen = new Map<string, Seen>();
  return async (remaining) => {
    const now = performance.now();
    if (now - lookedAt < lastMs / 2) return;
    lookedAt = now;
    const still: typeof seen = new Map();
    for (const { ref, metadata } of listBlockers(remaining).slice(0, MAX_LOOKED_AT)) {
      const object = await client.find(ref, metadata).catch(() => undefined);
      if (!object) continue;
      const entry = look(object, seen, now);
      still.set(metadata.uid ?? "", entry);
      if (entry.isSaid || now - entry.since < lastMs) continue;
      entry.isSaid = true;
      report(`still waiting for ${describeBlocker(ref, object)}`);
    }
    seen = still;
  };
}

function look(object: KubeObject, seen: ReadonlyMap<string, Seen>, now: number): Seen {
  const reason = findProblem(object)?.reason ?? "";
  const before = seen.get(object.metadata.uid ?? "");
  return before?.reason === reason ? before : { reason, since: now, isSaid: false };
}
