// Metrics of the watches of a process: their states, and the objects that they hold.
import { NAME, type MetricDefinition, type Metrics, type Sample } from "../../kube/metrics/metrics.ts";
import type { Informers } from "../../kube/cache/informers.ts";

const STATES = ["listing", "watching", "backoff", "parked", "stopped"] as const;
const REASONS = ["none", "Forbidden", "Unauthorized", "NoKind"] as const;

const WATCHES = {
  name: "cupola_watches",
  type: "gauge",
  help: "Watches by state; a parked one waits for a right or a kind, and its readers wait with it.",
  labels: { resource: NAME, state: STATES, reason: REASONS },
} as const satisfies MetricDefinition;

export const WATCH_METRICS: readonly MetricDefinition[] = [WATCHES];

/** Reads the watches at each scrape, until the returned function is called. */
export function followWatches(metrics: Metrics, informers: Pick<Informers, "status">): () => void {
  return metrics.gauge(WATCHES, () => informers.status().map(sampleOf));
}

function sampleOf({ resource, state, parkReason }: ReturnType<Informers["status"]>[number]): Sample<typeof WATCHES> {
  return [{ resource, state, reason: (state === "parked" && parkReason) || "none" }, 1];
}
