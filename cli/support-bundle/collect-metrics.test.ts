// The lines of a scrape that a support bundle keeps.
import { expect, test } from "vitest";
import { keepMetrics, metricsPortOf } from "./collect-metrics.ts";

test("metrics of Cupola and of Node stay as they are; others, and comments, go", () => {
  const kept = [
    'cupola_api_requests_total{method="GET",endpoint="/v3/apps/:guid",code="200"} 2',
    'cupola_api_request_duration_seconds_bucket{le="0.5",method="GET",resource="apps"} 2',
    "nodejs_eventloop_lag_p99_seconds 0.012",
    "process_resident_memory_bytes 104857600",
  ];
  expect(keepMetrics(["# HELP cupola_ready x", ...kept, "other_secret_total 1", ""].join("\n"))).toBe(
    `${kept.join("\n")}\n`,
  );
});

test("what looks like a credential in a label is masked", () => {
  const text = keepMetrics('cupola_degraded{check="token=Hd7Jk29+sLq0PzV1"} 1');
  expect(text).not.toContain("Hd7Jk29");
});

test("only a port of that name is scraped", () => {
  const ports = [
    { name: "https", containerPort: 8443 },
    { name: "metrics", containerPort: 8444 },
  ];
  expect(metricsPortOf({ containers: [{ name: "cupola", ports }] })).toEqual([8444]);
  expect(metricsPortOf(undefined)).toEqual([]);
});
