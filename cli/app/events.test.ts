// The events that `cup events` shows.
import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import type { Context } from "../context.ts";
import { eventTable, showEvents, type AuditEvent } from "./events.ts";

const event = (type: string, data: Record<string, unknown> = {}): AuditEvent => ({
  created_at: "2026-01-01T00:00:00Z",
  type,
  actor: { name: "ann" },
  target: { guid: "a", type: "app", name: "shop" },
  data,
});
const lines = (events: readonly AuditEvent[], withTarget = false): string[] =>
  eventTable(events, withTarget).map(stripVTControlCharacters);

test("a row says when, what, who, and why or what was changed", () => {
  const crash = event("audit.app.process.crash", {
    index: 1,
    exit_description: "Exited with status 7",
    reason: "CRASHED",
  });
  expect(lines([crash, event("audit.app.process.scale", { request: { instances: 3 } })])).toEqual([
    "time                   event               actor   what",
    "2026-01-01T00:00:00Z   app.process.crash   ann     exit description: Exited with status 7, index: 1",
    '2026-01-01T00:00:00Z   app.process.scale   ann     {"instances":3}',
  ]);
});

test("a crash, which CF records twice, is told once", () => {
  expect(lines([event("app.crash"), event("audit.app.process.crash")]).slice(1)).toEqual([
    "2026-01-01T00:00:00Z   app.process.crash   ann",
  ]);
});

test("a space's events name their target", () => {
  expect(lines([event("audit.app.start")], true)[1]).toBe("2026-01-01T00:00:00Z   app.start   app shop   ann");
});

test("without events it says so", () => expect(lines([])).toEqual(["No events yet, or you may not see them."]));

test.each([
  ["shop", { target_guids: "A" }],
  [undefined, { space_guids: "S" }],
])("cup events %s asks for one page, newest first", async (app, scope) => {
  let asked: unknown;
  const context = {
    app: () => Promise.resolve({ guid: "A", name: "shop" }),
    space: () => Promise.resolve({ guid: "S", name: "dev" }),
    api: {
      request: (_method: string, path: string, { query }: { query: object }) => {
        asked = [path, query];
        return Promise.resolve({ resources: [] });
      },
    },
  } as unknown as Context;
  expect((await showEvents(context, app, { limit: 7 })).json).toEqual([]);
  expect(asked).toEqual(["/v3/audit_events", { order_by: "-created_at", per_page: "7", ...scope }]);
});
