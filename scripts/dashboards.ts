// Dashboards for Grafana, as files of the chart: what each panel asks Prometheus. Pure.

export interface Panel {
  title: string;
  /** PromQL. */
  expr: string;
  /** Name of a line; `{{label}}` is filled in. */
  legend: string;
  unit: "short" | "s" | "percentunit" | "reqps" | "bytes";
}

export interface Dashboard {
  /** Name of the file and of the dashboard's address. */
  name: string;
  title: string;
  panels: readonly Panel[];
}

const quantile = (share: number, metric: string, by: string): string =>
  `histogram_quantile(${share}, sum by (le, ${by}) (rate(${metric}_bucket[5m])))`;
const rate = (metric: string, by: string): string => `sum by (${by}) (rate(${metric}[5m]))`;

export const DASHBOARDS: readonly Dashboard[] = [
  {
    name: "overview",
    title: "Cupola / Overview",
    panels: [
      {
        title: "Requests answered with 5xx",
        // Without a 5xx so far there is no such series, and the share is 0.
        expr: '(sum(rate(cupola_api_requests_total{code=~"5.."}[5m])) or vector(0)) / sum(rate(cupola_api_requests_total[5m]))',
        legend: "share",
        unit: "percentunit",
      },
      { title: "Instances by state", expr: "sum by (state) (cupola_instances)", legend: "{{state}}", unit: "short" },
      {
        title: "Objects that are not ready",
        expr: 'sum by (kind) (cupola_objects{ready=~"False|Unknown"})',
        legend: "{{kind}}",
        unit: "short",
      },
      {
        title: "Processes that lead",
        expr: "sum by (name) (leader_election_master_status)",
        legend: "{{name}}",
        unit: "short",
      },
      { title: "Processes that are ready", expr: "sum(cupola_ready)", legend: "ready", unit: "short" },
      { title: "Failing checks", expr: "max by (check) (cupola_degraded)", legend: "{{check}}", unit: "short" },
    ],
  },
  {
    name: "api",
    title: "Cupola / CF API",
    panels: [
      { title: "Requests", expr: rate("cupola_api_requests_total", "code"), legend: "{{code}}", unit: "reqps" },
      { title: "Errors by name", expr: rate("cupola_api_errors_total", "key"), legend: "{{key}}", unit: "reqps" },
      {
        title: "Time of 95 % of requests",
        expr: quantile(0.95, "cupola_api_request_duration_seconds", "method"),
        legend: "{{method}}",
        unit: "s",
      },
      {
        title: "Slowest resources: time of 99 % of requests",
        expr: `topk(10, ${quantile(0.99, "cupola_api_request_duration_seconds", "resource")})`,
        legend: "{{resource}}",
        unit: "s",
      },
    ],
  },
  {
    name: "controllers",
    title: "Cupola / Controllers",
    panels: [
      {
        title: "Reconciles",
        expr: rate("controller_runtime_reconcile_total", "result"),
        legend: "{{result}}",
        unit: "reqps",
      },
      {
        title: "Reconciles that failed",
        expr: `${rate("controller_runtime_reconcile_errors_total", "controller")} > 0`,
        legend: "{{controller}}",
        unit: "reqps",
      },
      {
        title: "Wait of 99 % of keys in the queue",
        expr: quantile(0.99, "workqueue_queue_duration_seconds", "name"),
        legend: "{{name}}",
        unit: "s",
      },
      { title: "Keys that wait", expr: "sum by (name) (workqueue_depth)", legend: "{{name}}", unit: "short" },
      {
        title: "Watches that do not watch",
        expr: 'sum by (resource, state, reason) (cupola_watches{state!="watching"})',
        legend: "{{resource}} {{state}} {{reason}}",
        unit: "short",
      },
      {
        title: "Requests to the API server",
        expr: rate("rest_client_requests_total", "method, code"),
        legend: "{{method}} {{code}}",
        unit: "reqps",
      },
    ],
  },
  {
    name: "push",
    title: "Cupola / Push",
    panels: [
      {
        title: "Builds by result",
        expr: "sum by (builder, result) (increase(cupola_builds_total[1h]))",
        legend: "{{builder}} {{result}}",
        unit: "short",
      },
      {
        title: "Time of 95 % of builds",
        expr: quantile(0.95, "cupola_build_seconds", "builder"),
        legend: "{{builder}}",
        unit: "s",
      },
      {
        title: "Time of 95 % of starts",
        expr: quantile(0.95, "cupola_app_start_seconds", "runner"),
        legend: "{{runner}}",
        unit: "s",
      },
      {
        title: "Crashes of instances",
        expr: "sum by (runner) (increase(cupola_instance_crashes_total[1h]))",
        legend: "{{runner}}",
        unit: "short",
      },
      {
        title: "Tasks by result",
        expr: "sum by (result) (increase(cupola_tasks_total[1h]))",
        legend: "{{result}}",
        unit: "short",
      },
      {
        title: "Routes on the routers",
        expr: "sum by (router, ready) (cupola_route_bindings)",
        legend: "{{router}} {{ready}}",
        unit: "short",
      },
      {
        title: "Requests to service brokers",
        expr: rate("cupola_broker_requests_total", "operation, code"),
        legend: "{{operation}} {{code}}",
        unit: "reqps",
      },
      {
        title: "Requests to registries",
        expr: rate("cupola_registry_requests_total", "operation, code"),
        legend: "{{operation}} {{code}}",
        unit: "reqps",
      },
    ],
  },
  {
    name: "process",
    title: "Cupola / Processes",
    panels: [
      {
        title: "Processor time",
        expr: "rate(process_cpu_seconds_total[5m])",
        legend: "{{instance}}",
        unit: "short",
      },
      { title: "Memory", expr: "process_resident_memory_bytes", legend: "{{instance}}", unit: "bytes" },
      { title: "Heap", expr: "nodejs_heap_size_used_bytes", legend: "{{instance}}", unit: "bytes" },
      {
        title: "Delay of the event loop, 99 %",
        expr: "nodejs_eventloop_lag_p99_seconds",
        legend: "{{instance}}",
        unit: "s",
      },
      {
        title: "Garbage collection",
        expr: "sum by (instance, kind) (rate(nodejs_gc_duration_seconds_sum[5m]))",
        legend: "{{instance}} {{kind}}",
        unit: "percentunit",
      },
      { title: "Open files", expr: "process_open_fds", legend: "{{instance}}", unit: "short" },
    ],
  },
];

const COLUMNS = 2;
const [WIDTH, HEIGHT] = [12, 8];

/** The dashboard as Grafana imports it; the data source is asked for there. */
export function toGrafana({ name, title, panels }: Dashboard): string {
  const datasource = { type: "prometheus", uid: "${datasource}" };
  const model = {
    uid: `cupola-${name}`,
    title,
    tags: ["cupola"],
    schemaVersion: 39,
    refresh: "30s",
    time: { from: "now-6h", to: "now" },
    templating: { list: [{ name: "datasource", label: "Data source", type: "datasource", query: "prometheus" }] },
    panels: panels.map(({ title: heading, expr, legend, unit }, at) => ({
      id: at + 1,
      type: "timeseries",
      title: heading,
      datasource,
      gridPos: { x: (at % COLUMNS) * WIDTH, y: Math.floor(at / COLUMNS) * HEIGHT, w: WIDTH, h: HEIGHT },
      fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
      targets: [{ refId: "A", datasource, expr, legendFormat: legend }],
    })),
  };
  return `${JSON.stringify(model, null, 2)}\n`;
}
