// Reports of requests to service brokers, by the operations of the Open Service Broker API.
import { createRequestReports } from "../../../kube/metrics/reports.ts";

export const BROKER_OPERATIONS = [
  "catalog",
  "provision",
  "update",
  "deprovision",
  "fetch_instance",
  "bind",
  "unbind",
  "fetch_binding",
  "last_operation",
  "other",
] as const;
export type BrokerOperation = (typeof BROKER_OPERATIONS)[number];

export const brokerReports = createRequestReports<BrokerOperation>("cupola.broker-requests");

type Method = "GET" | "PUT" | "PATCH" | "DELETE";

const OF_INSTANCE: Record<Method, BrokerOperation> = {
  GET: "fetch_instance",
  PUT: "provision",
  PATCH: "update",
  DELETE: "deprovision",
};
const OF_BINDING: Record<Method, BrokerOperation> = {
  GET: "fetch_binding",
  PUT: "bind",
  PATCH: "other",
  DELETE: "unbind",
};

/** `path` is below the broker's address, with its query. Pure. */
export function brokerOperationOf({ method, path }: { method: Method; path: string }): BrokerOperation {
  const [, version, kind, , part, , last] = path.split("?", 1)[0]?.split("/") ?? [];
  if (version !== "v2") return "other";
  if (kind === "catalog") return "catalog";
  if (kind !== "service_instances") return "other";
  if (part === undefined) return OF_INSTANCE[method];
  if (part === "last_operation" || last === "last_operation") return "last_operation";
  return part === "service_bindings" ? OF_BINDING[method] : "other";
}
