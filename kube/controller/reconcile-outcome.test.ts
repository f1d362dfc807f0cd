// Status after a reconcile that waits.
import { expect, test } from "vitest";
import { NotReady } from "./controller.ts";
import { toReconcileOutcome } from "./reconcile-outcome.ts";

test("how far something is that waits is written with its condition", () => {
  const status = { step: { at: 2 }, gone: undefined };
  expect(toReconcileOutcome(new NotReady("Waiting", "for a reason", { status, requeueAfterMs: 5 }))).toEqual({
    result: { status },
    ready: { status: "False", reason: "Waiting", message: "for a reason" },
    requeue: { kind: "requeue", afterMs: 5 },
  });
  expect(toReconcileOutcome(new NotReady("Waiting", "for a reason")).result).toEqual({});
});
