// Metrics of the CF API: requests by endpoint, their times by resource, errors by the key of the catalogue.
import { NAME, type MetricDefinition, type Metrics } from "../../kube/metrics/metrics.ts";
import type { ErrorKey } from "../http/errors.ts";
import type { Method } from "./endpoint.ts";

const METHODS = ["GET", "POST", "PATCH", "PUT", "DELETE"] as const satisfies readonly Method[];

const REQUESTS = {
  name: "cupola_api_requests_total",
  type: "counter",
  help: "Answered requests of the CF API by endpoint, as docs/api.md lists them.",
  labels: { method: METHODS, endpoint: NAME, code: NAME },
} as const satisfies MetricDefinition;
const SECONDS = {
  name: "cupola_api_request_duration_seconds",
  type: "histogram",
  help: "Time of a request to the end of its answer, by resource: the first part of the path after /v3.",
  labels: { method: METHODS, resource: NAME },
  buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 30],
} as const satisfies MetricDefinition;
const ERRORS = {
  name: "cupola_api_errors_total",
  type: "counter",
  help: "Errors that the CF API answered, by their name in docs/errors.md.",
  labels: { key: NAME },
} as const satisfies MetricDefinition;

export const REQUEST_METRICS: readonly MetricDefinition[] = [REQUESTS, SECONDS, ERRORS];

/** Receives each answer of the CF API. */
export interface RequestMetrics {
  /** @param path of the endpoint's row, with its parameters as `:guid` */
  answered(request: { method: Method; path: string; status: number; milliseconds: number }): void;
  failed(key: ErrorKey): void;
}

export function createRequestMetrics(metrics: Metrics): RequestMetrics {
  const count = metrics.counter(REQUESTS);
  const observe = metrics.histogram(SECONDS);
  const countError = metrics.counter(ERRORS);
  return {
    answered({ method, path, status, milliseconds }) {
      count({ method, endpoint: path, code: String(status) });
      observe({ method, resource: resourceOf(path) }, milliseconds / 1000);
    },
    failed: (key) => countError({ key }),
  };
}

function resourceOf(path: string): string {
  return /^\/v3\/([^/]+)/.exec(path)?.[1] ?? "other";
}
