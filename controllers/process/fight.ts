// Whether another writer keeps changing the LRPs of a process on other clusters, such as an autoscaler. Pure.
import type { Process } from "../../crds/process/process.ts";
import type { ReconcileResult, RepairCount } from "../../kube/controller/controller.ts";

/** Repairs within an hour. */
const FIGHT = 10;
const HOUR_MS = 3_600_000;

/** `repairs`: by cluster, how often an LRP there was restored in the last hour. It is over after an hour that this replica has counted whole. */
export function planFight(
  { metadata, status }: Process,
  repairs: ReadonlyMap<string, RepairCount>,
  now: Date,
): Pick<ReconcileResult, "conditions" | "requeueAfterMs"> {
  const fought = [...repairs].filter(([, { count }]) => count >= FIGHT).map(([cluster]) => cluster);
  const before = status?.conditions?.find(({ type, status: is }) => type === "Fight" && is === "True");
  if (fought.length > 0) {
    const message = `another writer changes its LRPs on ${fought.join(", ")} again and again, and each time they are restored: if an autoscaler does, let it scale Process ${metadata.name} on the platform's own cluster instead`;
    return { conditions: [{ type: "Fight", status: "True", reason: "Restored", message }], requeueAfterMs: HOUR_MS };
  }
  if (!before) return {};
  const since = Math.max(Date.parse(before.lastTransitionTime), ...[...repairs.values()].map((one) => one.since));
  const leftMs = since + HOUR_MS - now.getTime();
  if (leftMs > 0) return { requeueAfterMs: leftMs };
  const message = `its LRPs were restored fewer than ${FIGHT} times in the last hour`;
  return { conditions: [{ type: "Fight", status: "False", reason: "Ended", message }] };
}
