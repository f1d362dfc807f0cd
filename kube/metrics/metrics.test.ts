// Metrics in the text that Prometheus reads.
import { expect, it } from "vitest";
import { createMetrics, NAME, type MetricDefinition } from "./metrics.ts";

const PASSES = {
  name: "test_passes_total",
  type: "counter",
  help: "Passes.",
  labels: { controller: NAME, result: ["success", "error"] },
} as const satisfies MetricDefinition;
const DEPTH = {
  name: "test_depth",
  type: "gauge",
  help: "Depth.",
  labels: { controller: NAME },
} as const satisfies MetricDefinition;
const SECONDS = {
  name: "test_seconds",
  type: "histogram",
  help: "Seconds.",
  labels: {},
  buckets: [0.1, 1],
} as const satisfies MetricDefinition;

const linesOf = (text: string, name: string): string[] => text.split("\n").filter((line) => line.startsWith(name));

it("counts, observes, and reads gauges at a scrape", async () => {
  const metrics = await createMetrics();
  const pass = metrics.counter(PASSES);
  pass({ controller: "app", result: "success" });
  pass({ controller: "app", result: "success" }, 2);
  metrics.histogram(SECONDS)({}, 0.5);
  let depth = 3;
  const end = metrics.gauge(DEPTH, () => [[{ controller: "app" }, depth]]);
  expect(linesOf(await metrics.scrape(), "test_")).toEqual([
    'test_passes_total{controller="app",result="success"} 3',
    'test_seconds_bucket{le="0.1"} 0',
    'test_seconds_bucket{le="1"} 1',
    'test_seconds_bucket{le="+Inf"} 1',
    "test_seconds_sum 0.5",
    "test_seconds_count 1",
    'test_depth{controller="app"} 3',
  ]);
  depth = 0;
  expect(linesOf(await metrics.scrape(), "test_depth")).toEqual(['test_depth{controller="app"} 0']);
  end();
  expect(linesOf(await metrics.scrape(), "test_depth")).toEqual([]);
});

it("gives a metric that is bound twice to all its users", async () => {
  const metrics = await createMetrics();
  metrics.counter(PASSES)({ controller: "app", result: "error" });
  metrics.counter(PASSES)({ controller: "app", result: "error" });
  metrics.gauge(DEPTH, () => [[{ controller: "app" }, 1]]);
  metrics.gauge(DEPTH, () => [
    [{ controller: "app" }, 1],
    [{ controller: "space" }, 4],
  ]);
  expect(linesOf(await metrics.scrape(), "test_")).toEqual([
    'test_passes_total{controller="app",result="error"} 2',
    'test_depth{controller="app"} 2',
    'test_depth{controller="space"} 4',
  ]);
});

it("counts names beyond the bound as other", async () => {
  const metrics = await createMetrics();
  const pass = metrics.counter(PASSES);
  for (let n = 0; n < 310; n++) pass({ controller: `c${n}`, result: "success" });
  const lines = linesOf(await metrics.scrape(), "test_passes_total");
  expect(lines).toHaveLength(301);
  expect(lines.at(-1)).toBe('test_passes_total{controller="other",result="success"} 10');
});
