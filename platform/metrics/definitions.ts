// All metrics of Cupola, for docs/operate/metrics.md. Those of Node come with prom-client.
import { REQUEST_METRICS } from "../../api/routing/request-metrics.ts";
import { CLIENT_METRICS } from "../../kube/client/client-metrics.ts";
import { CONTROLLER_METRICS } from "../../kube/controller/controller-metrics.ts";
import type { MetricDefinition } from "../../kube/metrics/metrics.ts";
import { APP_METRICS } from "./app-metrics.ts";
import { PLATFORM_METRICS } from "./platform-metrics.ts";
import { OUTSIDE_REQUEST_METRICS } from "./request-metrics.ts";
import { WATCH_METRICS } from "./watch-metrics.ts";

export const METRICS: readonly MetricDefinition[] = [
  ...PLATFORM_METRICS,
  ...APP_METRICS,
  ...OUTSIDE_REQUEST_METRICS,
  ...REQUEST_METRICS,
  ...CONTROLLER_METRICS,
  ...CLIENT_METRICS,
  ...WATCH_METRICS,
];
