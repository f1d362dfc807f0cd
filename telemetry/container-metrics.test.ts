// Container metrics as gauge envelopes, and filters by their names.
import { expect, test } from "vitest";
import { toGaugeEnvelope } from "./container-metrics.ts";
import type { GaugeEnvelope } from "./envelope.ts";
import { parseNameFilter } from "./name-filter.ts";

const metrics = {
  source: "A",
  index: 2,
  tags: { process_id: "P", process_type: "web" },
  time: "2026-01-01T00:00:00.250Z",
  cpu: 0.5,
  mem: 100,
  memQuota: 200,
  diskQuota: 400,
  logRate: 7,
  logRateLimit: -1,
};
const envelope = toGaugeEnvelope(metrics) as GaugeEnvelope;

test("an envelope has Cloud Foundry's names and units; what nobody measures is missing", () => {
  expect(envelope).toEqual({
    timestamp: "1767225600250000000",
    source_id: "A",
    instance_id: "2",
    tags: { process_id: "P", process_type: "web", instance_id: "2", source_id: "A" },
    gauge: {
      metrics: {
        cpu: { unit: "percentage", value: 50 },
        memory: { unit: "bytes", value: 100 },
        memory_quota: { unit: "bytes", value: 200 },
        disk_quota: { unit: "bytes", value: 400 },
        log_rate: { unit: "B/s", value: 7 },
        log_rate_limit: { unit: "B/s", value: -1 },
      },
    },
  });
  const entitled = toGaugeEnvelope({ ...metrics, cores: 2, disk: 3 });
  expect(entitled?.gauge.metrics["cpu_entitlement"]).toEqual({ unit: "percentage", value: 25 });
  expect(entitled?.gauge.metrics["disk"]).toEqual({ unit: "bytes", value: 3 });
  expect(toGaugeEnvelope({ ...metrics, time: "never" })).toBeUndefined();
});

test.each([
  ["^cpu$", ["cpu"]],
  ["quota", ["memory_quota", "disk_quota"]],
  ["memory.*", ["memory", "memory_quota"]],
  ["nothing", undefined],
])("the filter %s", (text, names) => {
  const filtered = parseNameFilter(text)?.(envelope) as GaugeEnvelope | undefined;
  expect(filtered && Object.keys(filtered.gauge.metrics)).toEqual(names);
});

test("a line passes every filter", () => {
  const line = { ...envelope, gauge: undefined, log: { payload: "", type: "OUT" as const } };
  const { gauge: _gauge, ...log } = line;
  expect(parseNameFilter("nothing")?.(log)).toBe(log);
});

test.each(["(", "((.*)*)*x", "(a+)+$", ".*.*.*.*x", "a".repeat(101)])(
  "the filter %s is refused: it is none, or may take long",
  (text) => expect(parseNameFilter(text)).toBeUndefined(),
);
