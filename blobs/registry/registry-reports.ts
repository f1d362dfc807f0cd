// Reports of requests to registries, by what they are for.
import { createRequestReports } from "../../kube/metrics/reports.ts";

export const REGISTRY_OPERATIONS = [
  "blob_get",
  "blob_put",
  "manifest_get",
  "manifest_put",
  "delete",
  "list",
  "other",
] as const;
export type RegistryOperation = (typeof REGISTRY_OPERATIONS)[number];

export const registryReports = createRequestReports<RegistryOperation>("cupola.registry-requests");

/** `path` is that of the OCI distribution API. Pure. */
export function registryOperationOf({ method, path }: { method: string; path: string }): RegistryOperation {
  if (method === "DELETE") return "delete";
  const isRead = method === "GET" || method === "HEAD";
  if (path.includes("/blobs/")) return isRead ? "blob_get" : "blob_put";
  if (path.includes("/manifests/")) return isRead ? "manifest_get" : "manifest_put";
  return /\/tags\/list|\/_catalog|\/referrers\//.test(path) ? "list" : "other";
}
