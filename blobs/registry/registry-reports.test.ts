// Requests to registries are reported by what they are for.
import { expect, test } from "vitest";
import { registryOperationOf } from "./registry-reports.ts";

test.each([
  ["GET", "/v2/team/app/blobs/sha256:a", "blob_get"],
  ["HEAD", "/v2/team/app/blobs/sha256:a", "blob_get"],
  ["POST", "/v2/team/app/blobs/uploads/", "blob_put"],
  ["PATCH", "/v2/team/app/blobs/uploads/u", "blob_put"],
  ["GET", "/v2/team/app/manifests/latest", "manifest_get"],
  ["PUT", "/v2/team/app/manifests/latest", "manifest_put"],
  ["DELETE", "/v2/team/app/manifests/sha256:a", "delete"],
  ["GET", "/v2/team/app/tags/list?n=100", "list"],
  ["GET", "/v2/", "other"],
])("%s %s is %s", (method, path, operation) => {
  expect(registryOperationOf({ method, path })).toBe(operation);
});
