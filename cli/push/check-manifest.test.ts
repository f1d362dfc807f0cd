// Messages about a wrong manifest.
import { expect, test } from "vitest";
import { findManifestFaults } from "./check-manifest.ts";

test("every fault at once, each with its place and the key that was meant", () => {
  const document = {
    applications: [
      { name: "shop", memroy: "1G", instances: "two", env: ["A=b"], frobnicate: 1 },
      { name: "jobs", processes: [{ type: "worker", diskquota: "1G", memory: "lots" }], routes: ["a.example.org"] },
      { name: "shop", "health-check-type": "tcp" },
    ],
  };
  expect(findManifestFaults(document)).toEqual([
    "shop: there is no key memroy; did you mean memory?",
    'shop: instances must be a whole number, 0 or more, not "two"',
    'shop: env must have keys and values, not ["A=b"]',
    "shop: there is no key frobnicate",
    "jobs, process worker: there is no key diskquota; did you mean disk_quota?",
    'jobs, process worker: memory must be a size such as 256M or 1G, not "lots"',
    "jobs, route 1: there is no key a.example.org",
    'shop: health-check-type must be one of port, http, process, none, not "tcp"',
    "two applications are called shop",
  ]);
});

test.each([
  ["nothing", null],
  ["no applications", {}],
  ["an empty list", { applications: [] }],
])("%s", (_what, document) => {
  expect(findManifestFaults(document)).toEqual(["applications: must be a list of at least one application"]);
});

test("an image that is no text", () => {
  const applications = [{ name: "shop", docker: { image: 5 } }];
  expect(findManifestFaults({ applications })).toEqual([
    'shop: docker must have an image that is text, not {"image":5}',
  ]);
});

test("an application that is no map", () => {
  expect(findManifestFaults({ applications: ["shop"] })).toEqual(["application 1: must have keys and values"]);
});

test("every key of a usual manifest is known", () => {
  const app = {
    name: "shop",
    path: ".",
    buildpacks: ["nodejs_buildpack"],
    command: null,
    disk_quota: "1G",
    memory: "256M",
    instances: 2,
    timeout: 60,
    env: { A: 1, B: true },
    routes: [{ route: "shop.example.org", protocol: "http2" }],
    processes: [{ type: "worker", "health-check-type": "process", memory: "64MB" }],
    services: ["db"],
    sidecars: [],
    metadata: { labels: { a: "b" } },
    "log-rate-limit-per-second": -1,
    stack: "cflinuxfs4",
  };
  expect(findManifestFaults({ version: 1, applications: [app], defaults: {} })).toEqual([]);
});

test.each([
  [{ instances: "2", timeout: "60" }],
  [{ memory: null, "disk-quota": null, disk_quota: "", instances: null, "log-rate-limit-per-second": null }],
  [{ timeout: null, "health-check-interval": null, "health-check-http-endpoint": null }],
  [{ buildpacks: null, docker: null, lifecycle: null, metadata: null }],
  [{ "no-route": null, "random-route": null, "default-route": null }],
  [{ memory: "524288K", "disk-quota": "1GiB" }],
])("as CF takes it: %j", (attributes) => {
  expect(findManifestFaults({ applications: [{ name: "shop", ...attributes }] })).toEqual([]);
});

test.each([
  [{ instances: "2.5" }, "instances must be a whole number, 0 or more"],
  [{ instances: -1 }, "instances must be a whole number, 0 or more"],
  [{ timeout: "0" }, "timeout must be a whole number of seconds"],
  [{ memory: "512 M" }, "memory must be a size such as 256M or 1G"],
  [{ memory: "1Gi" }, "memory must be a size such as 256M or 1G"],
  [{ "health-check-type": null }, "health-check-type must be one of port, http, process, none"],
])("as the API refuses it: %j", (attributes, fault) => {
  const [found = ""] = findManifestFaults({ applications: [{ name: "shop", ...attributes }] });
  expect(found).toContain(`shop: ${fault}, not `);
});
