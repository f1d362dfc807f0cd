// Which refusals are worth another attempt: those that RBAC's lag may explain.
import { expect, test } from "vitest";
import { KubeError, type Status } from "../../kube/client/errors.ts";
import { isRbacDenial } from "./rbac-lag.ts";

const forbidden = (message: string, details?: Status["details"]): KubeError =>
  new KubeError({ code: 403, reason: "Forbidden", message, ...(details && { details }) });

test.each([
  ["RBAC denied it", forbidden('User "ann" cannot create resource "apps"'), true],
  ["an admission policy denied it", forbidden("policy 'x' with binding 'y' denied request: no"), false],
  [
    "the namespace is being deleted",
    forbidden("unable to create new content in namespace a because it is being terminated", {
      causes: [{ reason: "NamespaceTerminating", field: "metadata.namespace" }],
    }),
    false,
  ],
  ["the object is gone", new KubeError({ code: 404, reason: "NotFound" }), false],
])("%s", (_what, error, expected) => {
  expect(isRbacDenial(error)).toBe(expected);
});
