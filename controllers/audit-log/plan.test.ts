// Which segments of audit events are deleted.
import { expect, test } from "vitest";
import { AuditLog, type AuditEvent } from "../../crds/audit-log/audit-log.ts";
import { newGUID } from "../../crds/guid.ts";
import { planExcessSegments } from "./plan.ts";

function segment(name: string, events: number, at: number): AuditLog {
  const event = { guid: newGUID(at) } as AuditEvent;
  const spec = { writer: "api-0", events: Array.from({ length: events }, () => event) };
  return { apiVersion: "cupola.dev/v1alpha1", kind: AuditLog.kind, metadata: { name }, spec } as AuditLog;
}
const namesOf = (segments: readonly AuditLog[]): string[] => segments.map(({ metadata }) => metadata.name);

test("segments are kept until they hold a thousand events", () => {
  const segments = Array.from({ length: 12 }, (_, at) => segment(`s${at}`, 100, at * 1000));
  expect(namesOf(planExcessSegments(segments))).toEqual(["s0", "s1"]);
  expect(namesOf(planExcessSegments(segments.slice(2)))).toEqual([]);
});

test("of many short segments the newest hundred are kept", () => {
  const segments = Array.from({ length: 103 }, (_, at) => segment(`s${at}`, 1, at * 1000));
  expect(namesOf(planExcessSegments(segments.toReversed()))).toEqual(["s0", "s1", "s2"]);
});

test("segments that are being deleted do not count", () => {
  const deleted = segment("going", 5_000, 9_000_000);
  deleted.metadata.deletionTimestamp = "2026-01-01T00:00:00Z";
  expect(planExcessSegments([deleted, segment("kept", 1, 1)])).toEqual([]);
});
