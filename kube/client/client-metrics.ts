// Metrics of requests to the API server, under the names of client-go.
import { NAME, type MetricDefinition, type Metrics } from "../metrics/metrics.ts";
import type { RequestRecord } from "./client.ts";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "other"] as const;
type Method = (typeof METHODS)[number];

const REQUESTS = {
  name: "rest_client_requests_total",
  type: "counter",
  help: "Requests to the API server by method and status; code 0 got no response.",
  labels: { code: NAME, method: METHODS },
} as const satisfies MetricDefinition;
const RETRIES = {
  name: "rest_client_request_retries_total",
  type: "counter",
  help: "Requests to the API server that were attempts after the first.",
  labels: { code: NAME, verb: METHODS },
} as const satisfies MetricDefinition;
const SECONDS = {
  name: "rest_client_request_duration_seconds",
  type: "histogram",
  help: "Time to the response of the API server; of a watch, to its first byte.",
  labels: { verb: METHODS },
  buckets: [0.005, 0.025, 0.1, 0.25, 1, 4, 15, 60],
} as const satisfies MetricDefinition;

export const CLIENT_METRICS: readonly MetricDefinition[] = [REQUESTS, RETRIES, SECONDS];

/** Receives each request that was sent. */
export function createClientMetrics(metrics: Metrics): (record: RequestRecord) => void {
  const count = metrics.counter(REQUESTS);
  const countRetry = metrics.counter(RETRIES);
  const observe = metrics.histogram(SECONDS);
  return ({ method: sent, code: status, attempt, milliseconds }) => {
    const method: Method = METHODS.find((known) => known === sent) ?? "other";
    const code = String(status);
    count({ code, method });
    if (attempt > 1) countRetry({ code, verb: method });
    observe({ verb: method }, milliseconds / 1000);
  };
}
