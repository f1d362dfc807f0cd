// Metrics of controllers and their queues, under the names that controller-runtime gives them, so that known dashboards fit.
import { NAME, type MetricDefinition, type Metrics } from "../metrics/metrics.ts";
import type { Pass, Workqueue } from "./workqueue.ts";

const CONTROLLER = { controller: NAME } as const;
/** client-go's queues have a name of their own; here it is the controller's. */
const QUEUE = { name: NAME, controller: NAME } as const;
const SECONDS = [0.005, 0.025, 0.1, 0.5, 2.5, 10, 60] as const;

const RECONCILES = {
  name: "controller_runtime_reconcile_total",
  type: "counter",
  help: "Reconciles, by result.",
  labels: { controller: NAME, result: ["success", "error", "requeue", "requeue_after"] },
} as const satisfies MetricDefinition;
const RECONCILE_ERRORS = {
  name: "controller_runtime_reconcile_errors_total",
  type: "counter",
  help: "Reconciles that ended in an error and are retried.",
  labels: CONTROLLER,
} as const satisfies MetricDefinition;
const RECONCILE_SECONDS = {
  name: "controller_runtime_reconcile_time_seconds",
  type: "histogram",
  help: "Time of a reconcile.",
  labels: CONTROLLER,
  buckets: SECONDS,
} as const satisfies MetricDefinition;
const ACTIVE_WORKERS = {
  name: "controller_runtime_active_workers",
  type: "gauge",
  help: "Reconciles under way.",
  labels: CONTROLLER,
} as const satisfies MetricDefinition;
const MAX_WORKERS = {
  name: "controller_runtime_max_concurrent_reconciles",
  type: "gauge",
  help: "The most reconciles at a time.",
  labels: CONTROLLER,
} as const satisfies MetricDefinition;
const DEPTH = {
  name: "workqueue_depth",
  type: "gauge",
  help: "Keys that are ready and wait for a worker.",
  labels: QUEUE,
} as const satisfies MetricDefinition;
const RETRIES = {
  name: "workqueue_retries_total",
  type: "counter",
  help: "Keys that are retried with a growing delay.",
  labels: QUEUE,
} as const satisfies MetricDefinition;
const QUEUE_SECONDS = {
  name: "workqueue_queue_duration_seconds",
  type: "histogram",
  help: "Time that a ready key waits for a worker.",
  labels: QUEUE,
  buckets: SECONDS,
} as const satisfies MetricDefinition;
const UNFINISHED_SECONDS = {
  name: "workqueue_unfinished_work_seconds",
  type: "gauge",
  help: "Time of all reconciles under way, added up.",
  labels: QUEUE,
} as const satisfies MetricDefinition;
const LONGEST_SECONDS = {
  name: "workqueue_longest_running_processor_seconds",
  type: "gauge",
  help: "Time of the longest reconcile under way.",
  labels: QUEUE,
} as const satisfies MetricDefinition;

export const CONTROLLER_METRICS: readonly MetricDefinition[] = [
  RECONCILES,
  RECONCILE_ERRORS,
  RECONCILE_SECONDS,
  ACTIVE_WORKERS,
  MAX_WORKERS,
  DEPTH,
  RETRIES,
  QUEUE_SECONDS,
  UNFINISHED_SECONDS,
  LONGEST_SECONDS,
];

const RESULTS = { done: "success", retry: "requeue", requeue: "requeue_after" } as const;

/** Observes the queues of controllers. Several runs of a process share one. */
export interface ControllerMetrics {
  /** Called after each pass over a key. */
  observe(controller: string, pass: Pass): void;
  /** Reads the queue at each scrape, until the returned function is called. */
  follow(controller: string, queue: Workqueue, workers: number): () => void;
}

export function createControllerMetrics(metrics: Metrics): ControllerMetrics {
  const count = metrics.counter(RECONCILES);
  const countError = metrics.counter(RECONCILE_ERRORS);
  const countRetry = metrics.counter(RETRIES);
  const observeWork = metrics.histogram(RECONCILE_SECONDS);
  const observeWait = metrics.histogram(QUEUE_SECONDS);
  return {
    observe(controller, { waitedMs, workedMs, outcome }) {
      const queue = { name: controller, controller };
      count({ controller, result: outcome === "fault" ? "error" : RESULTS[outcome] });
      if (outcome === "fault") countError({ controller });
      if (outcome === "fault" || outcome === "retry") countRetry(queue);
      observeWork({ controller }, workedMs / 1000);
      observeWait(queue, waitedMs / 1000);
    },
    follow(controller, queue, workers) {
      const labels = { name: controller, controller };
      const ends = [
        metrics.gauge(ACTIVE_WORKERS, () => [[{ controller }, queue.runningMs().length]]),
        metrics.gauge(MAX_WORKERS, () => [[{ controller }, workers]]),
        metrics.gauge(DEPTH, () => [[labels, queue.readyCount]]),
        metrics.gauge(UNFINISHED_SECONDS, () => [[labels, queue.runningMs().reduce((sum, ms) => sum + ms, 0) / 1000]]),
        metrics.gauge(LONGEST_SECONDS, () => [[labels, Math.max(0, ...queue.runningMs()) / 1000]]),
      ];
      return () => ends.forEach((end) => end());
    },
  };
}
