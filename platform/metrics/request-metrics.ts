// Metrics of the requests that a process sends to service brokers and registries.
import { REGISTRY_OPERATIONS, registryReports } from "../../blobs/registry/registry-reports.ts";
import { BROKER_OPERATIONS, brokerReports } from "../../controllers/shared/osb/broker-reports.ts";
import { NAME, type MetricDefinition, type Metrics } from "../../kube/metrics/metrics.ts";

const SECONDS = [0.05, 0.2, 0.5, 1, 5, 20, 60];

const BROKER_REQUESTS = {
  name: "cupola_broker_requests_total",
  type: "counter",
  help: "Requests to service brokers, by operation of the Open Service Broker API and by status; code 0 got no answer.",
  labels: { operation: BROKER_OPERATIONS, code: NAME },
} as const satisfies MetricDefinition;
const BROKER_SECONDS = {
  name: "cupola_broker_request_seconds",
  type: "histogram",
  help: "Time of a request to a service broker.",
  labels: { operation: BROKER_OPERATIONS },
  buckets: SECONDS,
} as const satisfies MetricDefinition;
const REGISTRY_REQUESTS = {
  name: "cupola_registry_requests_total",
  type: "counter",
  help: "Requests to image registries by operation and status, retries included; code 0 got no answer.",
  labels: { operation: REGISTRY_OPERATIONS, code: NAME },
} as const satisfies MetricDefinition;
const REGISTRY_SECONDS = {
  name: "cupola_registry_request_seconds",
  type: "histogram",
  help: "Time to the response of a registry.",
  labels: { operation: REGISTRY_OPERATIONS },
  buckets: SECONDS,
} as const satisfies MetricDefinition;

export const OUTSIDE_REQUEST_METRICS: readonly MetricDefinition[] = [
  BROKER_REQUESTS,
  BROKER_SECONDS,
  REGISTRY_REQUESTS,
  REGISTRY_SECONDS,
];

/** Counts until the returned function is called. */
export function followOutsideRequests(metrics: Metrics): () => void {
  const [brokerCount, brokerSeconds] = [metrics.counter(BROKER_REQUESTS), metrics.histogram(BROKER_SECONDS)];
  const [registryCount, registrySeconds] = [metrics.counter(REGISTRY_REQUESTS), metrics.histogram(REGISTRY_SECONDS)];
  const ends = [
    brokerReports.follow(({ operation, code, seconds }) => {
      brokerCount({ operation, code: String(code) });
      brokerSeconds({ operation }, seconds);
    }),
    registryReports.follow(({ operation, code, seconds }) => {
      registryCount({ operation, code: String(code) });
      registrySeconds({ operation }, seconds);
    }),
  ];
  return () => ends.forEach((end) => end());
}
