// Each panel of the chart's dashboards asks for metrics that there are, by labels that they have.
import { expect, test } from "vitest";
import { METRICS } from "../../platform/metrics/definitions.ts";
import { DASHBOARDS } from "../../scripts/dashboards.ts";

/** Metrics of prom-client that panels ask for, with their labels. */
const OF_NODE: Record<string, readonly string[]> = {
  process_cpu_seconds_total: [],
  process_resident_memory_bytes: [],
  process_open_fds: [],
  nodejs_heap_size_used_bytes: [],
  nodejs_eventloop_lag_p99_seconds: [],
  nodejs_gc_duration_seconds_sum: ["kind"],
};
/** Labels that Prometheus adds, and that of a histogram's buckets. */
const ADDED = ["instance", "le"];

const labelsOf = (metric: string): readonly string[] | undefined => {
  const definition = METRICS.find(({ name }) => name === metric || `${name}_bucket` === metric);
  return definition ? Object.keys(definition.labels) : OF_NODE[metric];
};
const namesIn = (text: string | undefined): string[] => text?.match(/\b[a-z][\w]*(?=\s*(?:[,)}]|[=!]~?"|$))/g) ?? [];

test.each(DASHBOARDS.flatMap(({ name, panels }) => panels.map((panel) => ({ name, ...panel }))))(
  "$name: $title",
  ({ expr, legend }) => {
    const metrics = expr.match(/\b(?:cupola|workqueue|leader|controller|rest|process|nodejs)_\w+/g) ?? [];
    expect(metrics).not.toEqual([]);
    const known = metrics.flatMap((metric) => labelsOf(metric) ?? [`no metric ${metric}`]).concat(ADDED);
    const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list]) => list?.split(", ") ?? []);
    const selected = [...expr.matchAll(/\{([^}]*)\}/g)].flatMap(([, list]) => namesIn(list));
    const shown = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label ?? "");
    expect(
      [...metrics.filter((metric) => !labelsOf(metric)), ...grouped, ...selected, ...shown].filter(
        (label) => !known.includes(label),
      ),
    ).toEqual([]);
    // A line can only be named by what the query keeps.
    if (grouped.length > 0) expect(shown.filter((label) => !grouped.includes(label))).toEqual([]);
  },
);
