// Classification of requests: a review is a POST, but no write.
import { expect, test } from "vitest";
import { requestKind } from "./request-kind.ts";

test.each([
  ["GET", "/api/v1/namespaces/a/secrets?watch=true", "read"],
  ["POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", "question"],
  ["POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews?timeout=5s", "question"],
  ["POST", "/apis/authorization.k8s.io/v1/namespaces/a/localsubjectaccessreviews", "question"],
  ["POST", "/apis/authentication.k8s.io/v1/tokenreviews", "question"],
  ["POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "question"],
  ["PATCH", "/api/v1/namespaces/a/secrets/b?fieldManager=x&dryRun=All", "question"],
  ["PATCH", "/apis/coordination.k8s.io/v1/namespaces/a/leases/b", "lease"],
  ["POST", "/apis/coordination.k8s.io/v1/namespaces/a/leases?fieldManager=x", "lease"],
  ["POST", "/api/v1/namespaces/a/secrets", "write"],
  ["DELETE", "/api/v1/namespaces/a/configmaps/leases", "write"],
  ["POST", "/apis/example.org/v1/namespaces/a/bookreviews", "write"],
  ["POST", "/apis/example.org/v1/namespaces/a/leases", "write"],
])("%s %s is a %s", (method, path, kind) => expect(requestKind({ method, path })).toBe(kind));
