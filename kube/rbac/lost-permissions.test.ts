// Declared permissions that the rules of the identity do not cover: listed within a round, dropped in the next that covers them.
import pino from "pino";
import { afterEach, expect, test, vi } from "vitest";
import { SelfSubjectRulesReview } from "../api/builtin.ts";
import type { KubeClient } from "../client/client.ts";
import { planLost, toPermissions, watchLostPermissions } from "./lost-permissions.ts";
import { formatPermission } from "./missing-permissions.ts";
import type { PolicyRule } from "./types.ts";

const DECLARED = [
  { apiGroups: [""], resources: ["secrets"], resourceNames: ["one", "two"], verbs: ["get"] },
  { apiGroups: ["g"], resources: ["gadgets", "gadgets/status"], verbs: ["create", "patch"] },
];
let stop = new AbortController();
afterEach(() => {
  stop.abort();
  vi.useRealTimers();
});

const lostOf = (rules: readonly PolicyRule[]): string[] =>
  planLost(toPermissions(DECLARED, "system"), rules).map((one) => `${formatPermission(one)} ${one.name ?? ""}`.trim());

test.each<[string, PolicyRule[], string[]]>([
  ["the declared rules", DECLARED, []],
  ["everything", [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }], []],
  [
    "fewer names, verbs and resources",
    [
      { apiGroups: [""], resources: ["secrets"], resourceNames: ["two"], verbs: ["get"] },
      { apiGroups: ["g"], resources: ["gadgets"], verbs: ["create"] },
    ],
    ["get secrets one", "patch gadgets.g", "create gadgets/status.g", "patch gadgets/status.g"],
  ],
])("with %s", (_rules, rules, lost) => {
  expect(lostOf(rules)).toEqual(lost);
});

/** `elsewhere`: an authorizer that lists no rules allows what is asked for. */
function watched(incomplete: boolean) {
  stop = new AbortController();
  const state = { rules: DECLARED as PolicyRule[], elsewhere: false, answers: true };
  const review = vi.fn((ref: { kind: string }) => {
    if (!state.answers) return Promise.reject(new Error("no answer"));
    const isOfRules = ref.kind === SelfSubjectRulesReview.kind;
    return Promise.resolve({
      status: isOfRules ? { resourceRules: state.rules, incomplete } : { allowed: state.elsewhere },
    });
  });
  vi.useFakeTimers();
  const list = watchLostPermissions({
    client: () => ({ review }) as unknown as KubeClient,
    declared: () => DECLARED,
    namespace: "system",
    log: pino({ level: "silent" }),
    signal: stop.signal,
    intervalMs: 10,
  });
  return { list, review, state };
}

test("a rule that goes is listed, stays so while the API server does not answer, and ends when it is back", async () => {
  const { list, state } = watched(false);
  await vi.advanceTimersByTimeAsync(11);
  expect(list()).toEqual([]);
  state.rules = [];
  await vi.advanceTimersByTimeAsync(11);
  const all = [
    "create gadgets.g",
    "create gadgets/status.g",
    "get secrets",
    "patch gadgets.g",
    "patch gadgets/status.g",
  ];
  expect(list()).toEqual(all);
  state.answers = false;
  await vi.advanceTimersByTimeAsync(11);
  expect(list()).toEqual(all);
  Object.assign(state, { answers: true, rules: DECLARED });
  await vi.advanceTimersByTimeAsync(11);
  expect(list()).toEqual([]);
});

test("where rules are incomplete, three requests a round at most confirm what is lost", async () => {
  const { list, state, review } = watched(true);
  Object.assign(state, { rules: [], elsewhere: true });
  await vi.advanceTimersByTimeAsync(100);
  expect(list()).toEqual([]);
  state.elsewhere = false;
  review.mockClear();
  await vi.advanceTimersByTimeAsync(10);
  expect(review).toHaveBeenCalledTimes(3);
  expect(list().length).toBeGreaterThan(0);
  await vi.advanceTimersByTimeAsync(100);
  expect(list()).toHaveLength(5);
});
