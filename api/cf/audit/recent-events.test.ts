// A read of events waits for the caller's own, and for nobody else's.
import { expect, test } from "vitest";
import { AuditLog, type AuditEvent } from "../../../crds/audit-log/audit-log.ts";
import { makeObject } from "../../../crds/testing/objects.ts";
import type { ClusterCache } from "../../cache/cluster-cache.ts";
import { createRecentEvents } from "./recent-events.ts";

function event(guid: string): AuditEvent {
  const ann = { guid: "ann", type: "user", name: "ann" };
  const target = { guid: "app", type: "app", name: "shop" };
  return { guid, at: "2026-01-01T00:00:00Z", type: "audit.app.update", actor: ann, target };
}

/** A cache whose only segment is what `write` was called with. */
function fakeCache(): { cache: Pick<ClusterCache, "store">; write: (...events: AuditEvent[]) => void } {
  let written: AuditEvent[] = [];
  const listeners = new Set<() => void>();
  const store = {
    byIndex: () => [makeObject(AuditLog, "audit-0", { spec: { writer: "w", events: written } })],
    onChange(listener: () => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  return {
    cache: { store: () => store } as unknown as Pick<ClusterCache, "store">,
    write(...events) {
      written = events;
      for (const listener of listeners) listener();
    },
  };
}

test("a read waits until the cache has all events of its caller", async () => {
  const { cache, write } = fakeCache();
  const recent = createRecentEvents(cache);
  recent.add("ann", event("1"));
  recent.add("ann", event("2"));
  let isDone = false;
  const waiting = recent.waitFor("ann")?.then(() => (isDone = true));
  write(event("1"));
  await new Promise(setImmediate);
  expect(isDone).toBe(false);
  write(event("1"), event("2"));
  await waiting;
});

test("a read does not wait for others' events", async () => {
  const recent = createRecentEvents(fakeCache().cache);
  recent.add("ann", event("1"));
  expect(recent.waitFor("bob")).toBeUndefined();
});
