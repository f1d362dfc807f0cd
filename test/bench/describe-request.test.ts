// Requests by name.
import { expect, test } from "vitest";
import { describeRequest } from "./describe-request.ts";

test.each([
  ["PATCH", "/apis/cupola.dev/v1alpha1/namespaces/x/apps/y/status?fieldManager=m", "PATCH apps/status by m: 200"],
  ["GET", "/api/v1/namespaces/x/secrets/y", "GET secrets: 200"],
  ["PATCH", "/api/v1/namespaces/x", "PATCH namespaces: 200"],
  ["GET", "/apis/cupola.dev/v1alpha1/apps?limit=1", "GET apps: 200"],
  ["GET", "/apis/cupola.dev/v1alpha1/apps?watch=true", undefined],
])("%s %s", (method, path, said) => {
  expect(describeRequest({ method, path, code: 200 })).toBe(said);
});
