// Status after a reconcile that waits.
import { expect, test } from "vitest";
import { NotReady } from "./controller.ts";
import { toReconcileOutcome } from "./reconcile-outcome.ts";

test("a wait has its reason in the condition, and changes no other status", () =>
  expect(toReconcileOutcome(new NotReady("Waiting", "for a reason", { requeueAfterMs: 5 }))).toEqual({
    result: {},
    ready: { status: "False", reason: "Waiting", message: "for a reason" },
    requeue: { kind: "requeue", afterMs: 5 },
  }));
