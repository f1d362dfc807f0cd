// Refusals of the API server in the form of `cup`.
import { expect, test } from "vitest";
import { KubeError } from "../../kube/client/errors.ts";
import { toFailure } from "./cluster.ts";

test.each<[string, ConstructorParameters<typeof KubeError>[0], object]>([
  ["no answer", { code: 0, reason: "Unreachable" }, { kind: "unreachable", exitCode: 4 }],
  ["no credential", { code: 401, message: "Unauthorized" }, { kind: "target", next: "cup login" }],
  [
    "a constraint that the user may not delete",
    { code: 403, message: "forbidden", details: { group: "constraints.cupola.dev", kind: "sizelimit" } },
    { kind: "failed", next: expect.stringContaining("cupola-policy-admin") },
  ],
  [
    "a template that the user may not write",
    { code: 403, message: "forbidden", details: { group: "cupola.dev", kind: "policytemplates" } },
    { kind: "failed", next: expect.stringContaining("cupola-policy-author") },
  ],
  ["another refusal", { code: 403, message: "no", details: { kind: "apps" } }, { message: "no", next: undefined }],
])("%s", (_what, status, expected) => {
  expect(toFailure(new KubeError(status), "https://127.0.0.1:6443")).toMatchObject(expected);
});
