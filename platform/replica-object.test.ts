// What a replica says of itself: parked watches as a whole and by namespace, in an order that does not change by itself.
import { expect, test } from "vitest";
import { presentReplica } from "./replica-object.ts";

const serving = { ready: true, pending: [], degraded: [] };

test("names what is parked, whole kinds and namespaces, sorted", () => {
  const { status, ready } = presentReplica({
    health: { ...serving, degraded: [{ name: "controllers", reason: "ingresses Forbidden" }] },
    leads: ["leader-b", "leader-a"],
    watches: [
      { resource: "routes.example", state: "watching", synced: true, namespaces: 3, elsewhere: [{ namespace: "two", state: "parked", parkReason: "Forbidden" }, { namespace: "one", state: "backoff" }] },
      { resource: "ingresses.example", state: "parked", synced: false, parkReason: "NoKind" },
      { resource: "apps.example", state: "watching", synced: true },
    ],
  });
  expect(ready).toBe(true);
  expect(status).toEqual({
    leads: ["leader-a", "leader-b"],
    parked: [{ resource: "ingresses.example", reason: "NoKind" }, { resource: "routes.example", namespace: "two", reason: "Forbidden" }],
    degraded: [{ name: "controllers", reason: "ingresses Forbidden" }],
  });
});

test("says why it is not ready", () => {
  const health = { ready: false, pending: [{ name: "api", reason: "apps listing" }, { name: "token", reason: "refused" }], degraded: [] };
  expect(presentReplica({ health, leads: [], watches: [] })).toMatchObject({ ready: false, message: "api: apps listing; token: refused" });
});
