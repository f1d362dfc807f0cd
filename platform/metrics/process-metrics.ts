// The metrics of one process: created before its client and its watches, which report to them.
import { createClientMetrics } from "../../kube/client/client-metrics.ts";
import type { RequestRecord } from "../../kube/client/client.ts";
import { createControllerMetrics, type ControllerMetrics } from "../../kube/controller/controller-metrics.ts";
import { createMetrics, type Metrics } from "../../kube/metrics/metrics.ts";
import { createRequestMetrics, type RequestMetrics } from "../../api/routing/request-metrics.ts";

/** Where the parts of a process report what they did. */
export interface ProcessMetrics {
  metrics: Metrics;
  controllers: ControllerMetrics;
  requests: RequestMetrics;
  observeRequest: (record: RequestRecord) => void;
}

export async function createProcessMetrics(): Promise<ProcessMetrics> {
  const metrics = await createMetrics();
  return {
    metrics,
    controllers: createControllerMetrics(metrics),
    requests: createRequestMetrics(metrics),
    observeRequest: createClientMetrics(metrics),
  };
}
