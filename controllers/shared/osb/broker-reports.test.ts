// Requests to service brokers are reported by their operation.
import { expect, test } from "vitest";
import { brokerOperationOf } from "./broker-reports.ts";

test.each([
  ["GET", "/v2/catalog", "catalog"],
  ["PUT", "/v2/service_instances/i?accepts_incomplete=true", "provision"],
  ["PATCH", "/v2/service_instances/i", "update"],
  ["DELETE", "/v2/service_instances/i?service_id=a&plan_id=b", "deprovision"],
  ["GET", "/v2/service_instances/i", "fetch_instance"],
  ["GET", "/v2/service_instances/i/last_operation?operation=x/y", "last_operation"],
  ["PUT", "/v2/service_instances/i/service_bindings/b", "bind"],
  ["DELETE", "/v2/service_instances/i/service_bindings/b", "unbind"],
  ["GET", "/v2/service_instances/i/service_bindings/b", "fetch_binding"],
  ["GET", "/v2/service_instances/i/service_bindings/b/last_operation", "last_operation"],
  ["GET", "/health", "other"],
] as const)("%s %s is %s", (method, path, operation) => {
  expect(brokerOperationOf({ method, path })).toBe(operation);
});
