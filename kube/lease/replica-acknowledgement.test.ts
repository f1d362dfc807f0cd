// A version is in force when every live replica says so: under joiners, restarts and errors.
import { expect, test } from "vitest";
import { planAcknowledgement, type AcknowledgementInput, type Report } from "./replica-acknowledgement.ts";

const member = (identity: string, leaseUid = `lease-${identity}`) => ({ identity, leaseUid });
const report = (replica: string, applied: string[] = ["v2"], more: Partial<Report> = {}): Report => ({
  replica,
  leaseUid: `lease-${replica}`,
  applied: new Set(applied),
  error: "",
  ...more,
});

const enforced = { enforced: true, pendingReplicas: [], errors: [] };
const pending = (...pendingReplicas: string[]) => ({ enforced: false, pendingReplicas, errors: [] });

test.each<[string, Partial<AcknowledgementInput>, object]>([
  ["every member has it", { reports: [report("a"), report("b")] }, enforced],
  ["a member has an older version", { reports: [report("a"), report("b", ["v1"])] }, pending("b")],
  ["a member has not reported", { reports: [report("a")] }, pending("b")],
  [
    "a member restarted since its report",
    { reports: [report("a"), report("b", ["v2"], { leaseUid: "old" })] },
    pending("b"),
  ],
  ["there is no member", { members: [] }, pending()],
  ["a replica that left reports still", { reports: [report("a"), report("b"), report("gone", [])] }, enforced],
  ["a member joined after all had it", { reports: [report("a")], wasEnforced: true }, enforced],
  [
    "a member has lost it after all had it",
    { reports: [report("a"), report("b", [])], wasEnforced: true },
    pending("b"),
  ],
  [
    "a member reports an error after all had it",
    { reports: [report("a"), report("b", ["v2"], { error: "may not watch tasks" })], wasEnforced: true },
    { enforced: false, pendingReplicas: [], errors: [{ replica: "b", error: "may not watch tasks" }] },
  ],
])("%s", (_what, given, expected) => {
  const input = { version: "v2", members: [member("a"), member("b")], reports: [], wasEnforced: false, ...given };
  expect(planAcknowledgement(input)).toEqual(expected);
});
