// An event that several processes recorded is listed once.
import { expect, test } from "vitest";
import { AuditLog, type AuditEvent } from "../../crds/audit-log/audit-log.ts";
import { eventGUID, newGUID } from "../../crds/guid.ts";
import { makeObject } from "../../crds/testing/objects.ts";
import type { Session } from "../access/session.ts";
import { listEvents } from "./list-events.ts";

const target = { guid: "A", type: "app", name: "shop" };
function event(ms: number, actor: string, guid: string): AuditEvent {
  const by = { guid: actor, type: "user", name: actor };
  return { guid, at: new Date(ms).toISOString(), type: "audit.app.delete-request", actor: by, target };
}
const list = (order_by: string, segments: AuditEvent[][]): string[] => {
  const logs = segments.map((events, at) => makeObject(AuditLog, `audit-${at}`, { spec: { writer: "w", events } }));
  const session = { list: () => logs } as unknown as Session;
  const query = { page: 1, per_page: 50, order_by, target_guids: ["A"] };
  return listEvents(session, query, "").map(({ actor }) => actor.name);
};

const deleted = (ms: number): string => eventGUID(ms, "uid-shop", "audit.app.delete-request");
const recorded = [
  [event(9_000, "kubectl", deleted(9_000))],
  [event(1_000, "ann", deleted(1_000)), event(2_000, "bob", newGUID(2_000))],
];

test.each([
  ["created_at", ["ann", "bob"]],
  ["-created_at", ["bob", "ann"]],
])("%s: a deletion that the API and the leader recorded is the API's", (order, names) => {
  expect(list(order, recorded)).toEqual(names);
});

test("an event whose first write had no answer is listed once", () => {
  const again = event(2_000, "bob", newGUID(2_000));
  expect(list("created_at", [[again], [again]])).toEqual(["bob"]);
});
