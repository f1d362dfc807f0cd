// Plans for an app and its processes from a manifest entry.
import { expect, test } from "vitest";
import { lifecycleOf, processesOf, processSpec } from "./plan.ts";
import { parseApplication, type Application } from "./schema.ts";

function application(fields: object): Application {
  const parsed = parseApplication({ name: "app", ...fields }, 0);
  expect(parsed.problems).toEqual([]);
  return parsed.application as Application;
}

test.each<[object, unknown]>([
  [{}, undefined],
  [{ memory: "1G" }, undefined],
  [{ docker: { image: "x" } }, { type: "docker" }],
  [{ lifecycle: "docker" }, { type: "docker" }],
  [
    { buildpacks: ["a"], stack: "s" },
    { type: "buildpack", data: { buildpacks: ["a"], stack: "s" } },
  ],
  [{ buildpacks: [] }, { type: "buildpack", data: { buildpacks: [] } }],
  [{ buildpack: "a" }, { type: "buildpack", data: { buildpacks: ["a"] } }],
  [{ buildpack: null }, { type: "buildpack", data: { buildpacks: [] } }],
  [{ buildpack: "default" }, { type: "buildpack", data: { buildpacks: [] } }],
  [
    { lifecycle: "cnb", buildpacks: ["a"] },
    { type: "cnb", data: { buildpacks: ["a"] } },
  ],
])("lifecycle of %j", (fields, expected) => {
  expect(lifecycleOf(application(fields))).toEqual(expected);
});

test.each<[object, object[]]>([
  [{}, []],
  [{ memory: "64M", command: "c" }, [{ type: "web", memory: 64, command: "c" }]],
  [{ memory: "64M", processes: [{ type: "worker" }] }, [{ type: "web", memory: 64 }, { type: "worker" }]],
  [{ memory: "64M", processes: [{ type: "web", memory: "32M" }] }, [{ type: "web", memory: 32 }]],
  [{ "readiness-health-check-type": "http" }, [{ type: "web", "readiness-health-check-type": "http" }]],
])("processes of %j", (fields, expected) => {
  expect(processesOf(application(fields))).toEqual(expected);
});

test.each<[object, { check: string; readiness: string }, object]>([
  [{}, { check: "port", readiness: "process" }, {}],
  [{ command: "null" }, { check: "port", readiness: "process" }, { command: null }],
  [
    { timeout: 5 },
    { check: "port", readiness: "process" },
    { healthCheck: { type: "port", timeoutSeconds: 5, endpoint: null } },
  ],
  [{ timeout: 5 }, { check: "http", readiness: "process" }, { healthCheck: { type: "http", timeoutSeconds: 5 } }],
  [
    { "health-check-http-endpoint": "/x" },
    { check: "port", readiness: "process" },
    { healthCheck: { type: "http", endpoint: "/x" } },
  ],
  [
    { "health-check-type": "none" },
    { check: "http", readiness: "process" },
    { healthCheck: { type: "process", endpoint: null } },
  ],
  [
    { "readiness-health-check-interval": 3 },
    { check: "port", readiness: "http" },
    { readinessHealthCheck: { type: "http", intervalSeconds: 3 } },
  ],
  [
    { "disk-quota": "1G", "log-rate-limit-per-second": "1K", instances: 0 },
    { check: "port", readiness: "process" },
    { diskMB: 1024, logRateLimitBytesPerSecond: 1024, instances: 0 },
  ],
])("spec of %j where %j holds", (fields, current, expected) => {
  const [entry] = application({ processes: [{ type: "x", ...fields }] }).processes ?? [];
  expect(entry && processSpec(entry, current)).toEqual(expected);
});
