// What a manifest entry means for app, processes and routes.
import { expect, test } from "vitest";
import { defaultHost, lifecycleOf, parseRoute, processesOf, processSpec, randomHost, splitHost } from "./plan.ts";
import { parseApplications, type Application } from "./schema.ts";

function application(fields: object): Application {
  const { applications, problems } = parseApplications([{ name: "app", ...fields }]);
  expect(problems).toEqual([]);
  return applications[0] as Application;
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

test.each<[string, object | undefined]>([
  ["a.example", { hostname: "a.example", path: "", port: 0 }],
  ["https://A.Example/", { hostname: "a.example", path: "", port: 0 }],
  ["a.example/B/c", { hostname: "a.example", path: "/B/c", port: 0 }],
  ["tcp://a.example:1024", { hostname: "a.example", path: "", port: 1024 }],
  ["*.a.example", { hostname: "*.a.example", path: "", port: 0 }],
  ["a b", undefined],
  ["a.example/x?y", undefined],
  ["", undefined],
])("route %s", (text, expected) => {
  expect(parseRoute(text)).toEqual(expected);
});

test.each<[string, object | undefined]>([
  ["a.example", { host: "", domain: "a.example" }],
  ["x.a.example", { host: "x", domain: "a.example" }],
  ["x.y.a.example", undefined],
  ["*.a.example", { host: "*", domain: "a.example" }],
  ["b.a.example", { host: "", domain: "b.a.example" }],
  ["example", undefined],
])("host and domain of %s", (hostname, expected) => {
  expect(splitHost(hostname, (name) => name === "a.example" || name === "b.a.example")).toEqual(expected);
});

test.each([
  ["My App", "my-app"],
  ["a_b", "a-b"],
  ["x".repeat(63), "x".repeat(63)],
  ["x".repeat(64), undefined],
  ["日本", undefined],
  ["-a", undefined],
  ["a.b", undefined],
])("default host of %s", (name, host) => {
  expect(defaultHost(name)).toBe(host);
});

test("random hosts are hosts, of any name and any dice", () => {
  for (const name of ["app", "日本", "x".repeat(255)])
    for (const dice of [0, 0.5, 0.999999])
      expect(randomHost(name, () => dice)).toMatch(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
});
