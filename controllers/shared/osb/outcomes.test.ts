// What answers of a broker mean.
import { expect, test } from "vitest";
import type { BrokerAnswer } from "./call-broker.ts";
import { pollDelaySeconds, retryDelaySeconds, toOutcome, toProgress, type Asked } from "./outcomes.ts";

const answer = (status: number, body?: Record<string, unknown>): BrokerAnswer => ({ kind: "answer", status, body });

test.each<[Asked, BrokerAnswer, object]>([
  ["provision", answer(201, {}), { kind: "done" }],
  ["provision", answer(200, {}), { kind: "done" }],
  ["provision", answer(202, { operation: "op" }), { kind: "accepted", id: "op" }],
  ["provision", answer(201), { kind: "unclear", reason: "BrokerAnswerInvalid" }],
  ["provision", answer(204, {}), { kind: "unclear" }],
  ["provision", answer(500, { description: "crash" }), { kind: "unclear", why: "Service broker error (500): crash" }],
  ["provision", answer(408), { kind: "unclear" }],
  ["provision", answer(409), { kind: "refused", why: "Service broker error (409): it gives no reason" }],
  ["provision", answer(302), { kind: "refused" }],
  ["provision", { kind: "lost", why: "x" }, { kind: "unclear", reason: "BrokerTimedOut" }],
  ["provision", { kind: "unreachable", why: "x" }, { kind: "refused", reason: "BrokerUnreachable" }],
  ["update", answer(201, {}), { kind: "unclear" }],
  ["deprovision", answer(200), { kind: "done" }],
  ["deprovision", answer(410), { kind: "done" }],
  ["unbind", answer(202), { kind: "accepted", id: undefined }],
  ["bind", answer(410, {}), { kind: "refused" }],
])("%s: %o", (asked, given, outcome) => {
  expect(toOutcome(asked, given)).toMatchObject(outcome);
});

test.each<[boolean, BrokerAnswer, object]>([
  [false, answer(200, { state: "succeeded" }), { state: "succeeded" }],
  [false, answer(200, { state: "failed", description: "no disk" }), { state: "failed", description: "no disk" }],
  [false, answer(200, { state: "in progress", description: "half" }), { state: "in progress", description: "half" }],
  [false, answer(200, { state: "odd" }), { state: "in progress" }],
  [false, answer(500), { state: "in progress" }],
  [false, { kind: "lost", why: "x" }, { state: "in progress" }],
  [false, answer(410), { state: "failed" }],
  [true, answer(410), { state: "succeeded" }],
])("last_operation, deletion %s: %o", (isDeletion, given, progress) => {
  expect(toProgress(isDeletion, given)).toMatchObject(progress);
});

test("questions get rarer, and the broker may say when", () => {
  expect([0, 100, 10_000].map((elapsed) => pollDelaySeconds(elapsed, undefined))).toEqual([2, 10, 60]);
  expect([0, 30, 1e9].map((after) => pollDelaySeconds(0, after))).toEqual([1, 30, 86_400]);
  expect([0, 3, 20].map(retryDelaySeconds)).toEqual([10, 80, 3600]);
});
