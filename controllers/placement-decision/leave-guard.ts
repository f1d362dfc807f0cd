// Holds processes on a cluster when many would leave it at once at their next start: more likely somebody changed the labels or a segment by accident.
import { LRUCache } from "lru-cache";
import type { Cluster } from "../../crds/cluster/cluster.ts";
import { DELETE_WINDOW_MS, deleteLimit } from "../shared/delete-limit.ts";

const MAX_CLUSTERS = 1_000;

export interface LeaveGuard {
  /** Whether the process with this uid may leave the cluster now. One that may, may for as long as the cache lags behind its decision. */
  mayLeave(cluster: Pick<Cluster, "metadata" | "spec" | "status">, uid: string, now: number): boolean;
}

interface Window {
  /** `spec.allowDeletes` at its begin. */
  allowDeletes: string;
  /** A person has let all leave. */
  isOpen: boolean;
  since: number;
  /** Processes that left. */
  gone: Set<string>;
}

export function createLeaveGuard(): LeaveGuard {
  const windows = new LRUCache<string, Window>({ max: MAX_CLUSTERS });
  return {
    mayLeave({ metadata: { name }, spec: { allowDeletes }, status }, uid, now) {
      const before = windows.get(name);
      const isNew = before !== undefined && before.allowDeletes !== allowDeletes;
      const isCurrent = !isNew && before !== undefined && now - before.since < DELETE_WINDOW_MS;
      const window = isCurrent ? before : { allowDeletes, isOpen: isNew, since: now, gone: new Set<string>() };
      windows.set(name, window);
      if (window.gone.has(uid)) return true;
      if (!window.isOpen && window.gone.size >= deleteLimit(status?.lrps ?? 0)) return false;
      window.gone.add(uid);
      return true;
    },
  };
}
