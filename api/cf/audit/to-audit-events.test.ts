// Events of an AuditLog: actor, action, target.
import { expect, test } from "vitest";
import { AuditLog } from "../../../crds/audit-log/audit-log.ts";
import { anOrg, aSpace } from "../../../crds/testing/objects.ts";
import { RoleBinding } from "../../../kube/api/builtin.ts";
import { cacheOf } from "../../cache/testing/cache-of.ts";
import { toAuditEvents } from "./to-audit-events.ts";

test("names longer than an AuditLog takes are cut: one that it refuses would take other events with it", () => {
  const long = "x".repeat(300);
  const object = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name: "b", namespace: "acme-dev", uid: "u" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cupola-space-developer" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: long }],
  };
  const context = { cache: cacheOf(anOrg(), aSpace()), actor: long, now: new Date(0) };
  const events = toAuditEvents({ verb: "delete", ref: RoleBinding, object }, context).map(({ event }) => event);
  expect(events.map(({ actor, target }) => [actor.guid.length, target.guid.length])).toEqual([[255, 255]]);
  expect(() => AuditLog.spec.parse({ writer: "api-0", events })).not.toThrow();
});
