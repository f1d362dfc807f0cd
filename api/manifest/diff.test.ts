// Changes that applying a manifest would make.
import { expect, test } from "vitest";
import { diffApplication } from "./diff.ts";

const current = {
  name: "a",
  lifecycle: "buildpack",
  env: { A: "1", processes: "0" },
  features: { ssh: true, revisions: true },
  routes: [{ route: "a.example", protocol: "http1" }],
  metadata: { labels: { x: "y" } },
  processes: [
    {
      type: "web",
      instances: 1,
      memory: "1024M",
      disk_quota: "512M",
      "log-rate-limit-per-second": "16K",
      "health-check-type": "port",
      "readiness-health-check-type": "process",
    },
    { type: "worker", instances: 0, memory: "64M" },
  ],
};

test.each<[object, object[]]>([
  [{}, []],
  [{ memory: "1G", "disk-quota": "512MB", "log-rate-limit-per-second": "16384B" }, []],
  [{ memory: "2G" }, [{ op: "replace", path: "/memory", was: "1024M", value: "2048M" }]],
  [{ "disk-quota": "1G" }, [{ op: "replace", path: "/disk-quota", was: "512M", value: "1024M" }]],
  [{ "log-rate-limit-per-second": -1 }, [{ op: "replace", path: "/log-rate-limit-per-second", was: "16K", value: -1 }]],
  [
    { "readiness-health-check-type": "http" },
    [{ op: "replace", path: "/readiness-health-check-type", was: "process", value: "http" }],
  ],
  [{ command: "x" }, [{ op: "add", path: "/command", value: "x" }]],
  [{ env: { A: 1, B: true } }, [{ op: "add", path: "/env/B", value: true }]],
  [{ features: { ssh: false } }, [{ op: "replace", path: "/features/ssh", was: true, value: false }]],
  [
    { metadata: { labels: { x: "z" }, annotations: { n: "m" } } },
    [
      { op: "replace", path: "/metadata/labels/x", was: "y", value: "z" },
      { op: "add", path: "/metadata/annotations/n", value: "m" },
    ],
  ],
  [
    { routes: [{ route: "b.example" }, { route: "a.example", protocol: "http2" }] },
    [
      { op: "add", path: "/routes/0", value: { route: "b.example" } },
      { op: "replace", path: "/routes/1/protocol", was: "http1", value: "http2" },
    ],
  ],
  [
    { processes: [{ type: "worker", memory: "64M", instances: 2 }] },
    [{ op: "replace", path: "/processes/0/instances", was: 0, value: 2 }],
  ],
  [
    { env: { routes: ["a"], constructor: ["b"], toString: "c", valueOf: { d: 1 } } },
    [
      { op: "add", path: "/env/routes", value: ["a"] },
      { op: "add", path: "/env/constructor", value: ["b"] },
      { op: "add", path: "/env/toString", value: "c" },
      { op: "add", path: "/env/valueOf/d", value: 1 },
    ],
  ],
  [{ env: { processes: ["a"] } }, [{ op: "replace", path: "/env/processes", was: "0", value: ["a"] }]],
  [{ processes: [{ type: "web", toString: "x" }] }, [{ op: "add", path: "/processes/0/toString", value: "x" }]],
  [{ constructor: ["a"] }, [{ op: "add", path: "/constructor", value: ["a"] }]],
  [{ "no-route": true, "random-route": true, path: "x" }, []],
])("%j", (wanted, differences) => {
  const original = structuredClone(current);
  expect(diffApplication({ name: "a", ...wanted }, current, "")).toEqual(differences);
  expect(current).toEqual(original);
});

test("the diff of a new app adds every key except push instructions", () => {
  expect(diffApplication({ name: "n", path: "x", memory: "1G" }, undefined, "/applications/2")).toEqual([
    { op: "add", path: "/applications/2/name", value: "n" },
    { op: "add", path: "/applications/2/memory", value: "1G" },
  ]);
});
