// Quota tables of `cup org` and `cup space`.
import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { usageTable, type Quota, type Usage } from "./usage.ts";

const usage: Usage = {
  started_instances: 2,
  memory_in_mb: 1536,
  routes: 3,
  service_instances: 0,
  reserved_ports: 0,
  domains: 0,
  per_app_tasks: 0,
  service_keys: 0,
};
const quota: Quota = {
  name: "small",
  apps: {
    total_memory_in_mb: 2048,
    per_process_memory_in_mb: null,
    total_instances: null,
    per_app_tasks: 0,
    log_rate_limit_in_bytes_per_second: 1024,
  },
  services: { total_service_instances: null, total_service_keys: null },
  routes: { total_routes: 10, total_reserved_ports: 0 },
};
const lines = (limits: Quota | undefined): string[] => usageTable(usage, limits).map(stripVTControlCharacters);

test("rows are what is used or limited", () => {
  expect(lines(quota).map((line) => line.split(/\s{2,}/))).toEqual([
    ["", "used", "limit"],
    ["memory", "1.5G", "2G"],
    ["instances", "2", "none"],
    ["tasks", "0", "0"],
    ["log rate", "-", "1K/s"],
    ["routes", "3", "10"],
    ["reserved ports", "0", "0"],
  ]);
});

test("without a quota there is no limit", () => {
  expect(lines(undefined).map((line) => line.split(/\s{2,}/)[0])).toEqual(["", "memory", "instances", "routes"]);
});
