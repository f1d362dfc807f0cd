// How paths are read: the same as the authorizer of kube-apiserver sees them.
import { expect, test } from "vitest";
import { readRequest } from "./path.ts";

test.each([
  [
    "GET",
    "/api/v1/namespaces/ns/pods",
    "",
    { verb: "list", group: "", version: "v1", resource: "pods", namespace: "ns", name: "", subresource: "" },
  ],
  ["GET", "/api/v1/namespaces/ns/pods", "watch=1", { verb: "watch" }],
  ["GET", "/api/v1/pods", "fieldSelector=metadata.name%3Dx", { verb: "list", name: "x", namespace: "" }],
  [
    "GET",
    "/apis/apps/v1/namespaces/ns/deployments/d/scale",
    "",
    { verb: "get", group: "apps", resource: "deployments", name: "d", subresource: "scale" },
  ],
  [
    "PUT",
    "/api/v1/namespaces/ns/finalize",
    "",
    { verb: "update", resource: "namespaces", namespace: "ns", name: "ns", subresource: "finalize" },
  ],
  ["GET", "/api/v1/namespaces/ns", "", { verb: "get", resource: "namespaces", namespace: "ns", name: "ns" }],
  ["DELETE", "/apis/x.org/v1/things", "", { verb: "deletecollection", resource: "things" }],
  ["DELETE", "/apis/x.org/v1/things/a%20b", "", { verb: "delete", name: "a b" }],
  ["GET", "/apis/x.org/v1", "", { isResource: false, verb: "get" }],
  ["GET", "/apis/x.org/v1/%E0%A4%A", "", { isResource: false }],
])("%s %s?%s", (method, path, query, expected) => {
  expect(readRequest(method, path, new URLSearchParams(query))).toMatchObject(expected);
});
