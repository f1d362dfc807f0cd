// Starts that operator policy holds back: the condition, and the objects that are reconciled again when verdicts may have changed.
import { expect, test } from "vitest";
import type { StartVerdict } from "../../crds/policy-template/start.ts";
import { createHeldStarts, findHeldReady, type StartGate } from "./start-gate.ts";

function setUp(verdict: Partial<StartVerdict>) {
  let listener = (): void => undefined;
  const gate: StartGate = {
    judge: () => ({ denied: [], undecided: [], readsOthers: false, ...verdict }),
    onChange: (one) => {
      listener = one;
      return () => (listener = () => undefined);
    },
  };
  const held = createHeldStarts(gate);
  const enqueued: unknown[] = [];
  const abort = new AbortController();
  held.source((key) => enqueued.push(key), abort.signal);
  return { held, enqueued, abort, change: () => listener() };
}

const KEY = { namespace: "acme-dev", name: "shop" };
const NOW = new Date("2026-06-01T00:00:00Z");
const after = (ms: number): Date => new Date(NOW.getTime() + ms);

test.each<[string, Partial<StartVerdict>, object | undefined]>([
  ["is allowed without a sentence", {}, undefined],
  [
    "is denied in the policies' sentences",
    { denied: ["a", "b"], undecided: ["c"] },
    { ready: { status: "False", reason: "PolicyDenied", message: "a; b", isFailure: true } },
  ],
  [
    "waits while it cannot be decided, and is judged again by itself",
    { undecided: ["c"] },
    { ready: { status: "False", reason: "PolicyUnknown", message: "c", isFailure: true }, requeueAfterMs: 5_000 },
  ],
])("a start %s", (_what, verdict, expected) => {
  expect(setUp(verdict).held.find(KEY, [], NOW)).toEqual(expected);
});

test("a start that is held back is reconciled again when verdicts may have changed, until the controller ends", () => {
  const verdict = { denied: ["no"] };
  const { held, enqueued, change, abort } = setUp(verdict);
  change();
  expect(enqueued).toEqual([]);
  held.find(KEY, [], NOW);
  change();
  expect(enqueued).toEqual([KEY]);
  verdict.denied = [];
  expect(held.find(KEY, [], NOW)).toBeUndefined();
  change();
  expect(enqueued).toEqual([KEY]);
  verdict.denied = ["no"];
  held.find(KEY, [], NOW);
  abort.abort();
  change();
  expect(enqueued).toEqual([KEY]);
});

test("a new object that is allowed by rules about others is judged again two seconds later", () => {
  const verdict = { readsOthers: true, denied: [] as string[] };
  const { held } = setUp(verdict);
  const created = { ...KEY, creationTimestamp: "2026-06-01T00:00:00Z" };
  expect(held.find(created, [], NOW)).toMatchObject({ ready: { reason: "PolicyPending" }, requeueAfterMs: 2_000 });
  expect(held.find(created, [], after(500))).toMatchObject({ requeueAfterMs: 1_500 });
  verdict.denied = ["no"];
  expect(held.find(created, [], after(2_000))).toMatchObject({ ready: { reason: "PolicyDenied" } });
  verdict.denied = [];
  expect(held.find(created, [], after(3_000))).toBeUndefined();
  expect(held.find(created, [], after(60_000))).toBeUndefined();
});

test("the condition of an app tells whether its start is held back", () => {
  const ready = (status: "True" | "False", reason: string) => [
    { type: "Ready", status, reason, message: "no", lastTransitionTime: "" },
  ];
  expect(findHeldReady(ready("False", "PolicyDenied"))).toMatchObject({ reason: "PolicyDenied", message: "no" });
  expect([findHeldReady(ready("False", "Starting")), findHeldReady([]), findHeldReady()]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});
