// Patches for updates and scaling of a process.
import { expect, test } from "vitest";
import type { Process } from "../../crds/process/process.ts";
import { scaleBody, toProcessSpec, toScaleSpec, updateProcessBody } from "./payload.ts";

const process = (type: string, spec: object = {}): Process =>
  ({ metadata: { name: "a.web" }, spec: { type, ...spec } }) as unknown as Process;

test.each<[object, Process, object]>([
  [{}, process("web"), {}],
  [{ command: "x", user: null }, process("web"), { command: "x", user: null }],
  [{ command: null }, process("web"), { command: null }],
  [
    { health_check: { data: { timeout: 5 } } },
    process("web"),
    { healthCheck: { type: "port", timeoutSeconds: 5, endpoint: null } },
  ],
  [
    { health_check: { data: { timeout: null } } },
    process("worker"),
    { healthCheck: { type: "process", timeoutSeconds: null, endpoint: null } },
  ],
  [
    { health_check: { data: { interval: 3 } } },
    process("web", { healthCheck: { type: "http", endpoint: "/x" } }),
    { healthCheck: { type: "http", intervalSeconds: 3 } },
  ],
  [
    { health_check: { type: "http", data: { endpoint: "/y" } } },
    process("web"),
    { healthCheck: { type: "http", endpoint: "/y" } },
  ],
  [
    { health_check: { type: "port" } },
    process("web", { healthCheck: { type: "http", endpoint: "/x" } }),
    { healthCheck: { type: "port", endpoint: null } },
  ],
  [
    { readiness_health_check: { data: { invocation_timeout: 2 } } },
    process("web"),
    { readinessHealthCheck: { type: "process", invocationTimeoutSeconds: 2, endpoint: null } },
  ],
])("an update %j", (body, current, spec) => {
  expect(toProcessSpec(updateProcessBody.parse(body), current)).toEqual(spec);
});

test.each<[object, object]>([
  [{}, {}],
  [{ instances: 0 }, { instances: 0 }],
  [{ instances: null, memory_in_mb: 64 }, { memoryMB: 64 }],
  [
    { disk_in_mb: 10, log_rate_limit_in_bytes_per_second: -1 },
    { diskMB: 10, logRateLimitBytesPerSecond: -1 },
  ],
])("a scaling %j", (body, spec) => {
  expect(toScaleSpec(scaleBody.parse(body))).toEqual(spec);
});
