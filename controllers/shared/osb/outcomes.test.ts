// Outcomes of a broker's answers: the tables of the Open Service Broker API, row by row.
import { expect, test } from "vitest";
import type { BrokerAnswer } from "./call-broker.ts";
import { pollDelaySeconds, retryDelaySeconds, toOutcome, toProgress, type Asked } from "./outcomes.ts";

const answer = (status: number, body?: Record<string, unknown>, text?: string): BrokerAnswer => ({
  kind: "answer",
  status,
  body,
  ...(text !== undefined && { text }),
});

/** "Orphan Mitigation" of the specification: only `unclear` is taken back. */
test.each<[string, BrokerAnswer, string]>([
  ["200: success", answer(200, {}), "done"],
  ["200 with a malformed body: failure, no mitigation", answer(200), "refused"],
  ["201: success", answer(201, {}), "done"],
  ["201 with a malformed body: failure, mitigation", answer(201), "unclear"],
  ["202: goes on", answer(202, { operation: "op" }), "accepted"],
  ["202 with a malformed body: failure, mitigation", answer(202), "unclear"],
  ["202 with an operation that is no string: failure, mitigation", answer(202, { operation: 5 }), "unclear"],
  ["202 with an operation without bound", answer(202, { operation: "x".repeat(10_001) }), "unclear"],
  ["any other 2xx: failure, mitigation", answer(204, {}), "unclear"],
  ["408: the request was not received, no mitigation", answer(408), "later"],
  ["422 ConcurrencyError: wait, no mitigation", answer(422, { error: "ConcurrencyError" }), "later"],
  ["422 AsyncRequired: failure, no mitigation", answer(422, { error: "AsyncRequired" }), "refused"],
  ["429: wait, no mitigation", answer(429), "later"],
  ["any other 4xx: rejected, no mitigation", answer(409), "refused"],
  ["410: rejected, no mitigation", answer(410), "refused"],
  ["5xx: failure, mitigation", answer(500), "unclear"],
  ["503: failure, mitigation", answer(503), "unclear"],
  ["a timeout: failure, mitigation", { kind: "lost", why: "x" }, "unclear"],
  ["no connection: nothing was sent", { kind: "unreachable", why: "x" }, "later"],
  ["a redirection is not followed", answer(302), "refused"],
])("provision and bind: %s", (_, given, kind) => {
  for (const asked of ["provision", "bind"] as const) expect(toOutcome(asked, given).kind).toBe(kind);
});

test.each<[Asked, BrokerAnswer, object]>([
  ["provision", answer(202, { operation: "op", description: "half" }), { id: "op", description: "half" }],
  ["provision", answer(201, { description: "made" }), { kind: "done", description: "made" }],
  ["bind", answer(201, { credentials: [] }), { kind: "unclear", why: expect.stringMatching(/valid JSON object/) }],
  ["bind", answer(200, { credentials: "x" }), { kind: "refused" }],
  ["bind", answer(201, { credentials: null }), { kind: "done" }],
  ["update", answer(201, {}), { kind: "unclear" }],
  ["update", answer(500), { kind: "unclear" }],
  ["update", answer(503), { kind: "later" }],
  ["update", { kind: "lost", why: "x" }, { kind: "later" }],
  ["deprovision", answer(200), { kind: "done" }],
  ["deprovision", answer(410), { kind: "done" }],
  ["unbind", answer(202), { kind: "accepted", id: undefined }],
])("%s: %o", (asked, given, outcome) => {
  expect(toOutcome(asked, given)).toMatchObject(outcome);
});

test.each<[BrokerAnswer, string]>([
  [answer(500, { description: "crash" }), "Service broker error: crash"],
  [
    answer(500, {}, '{"error":"x"}'),
    'The service broker returned an invalid response. Status Code: 500 Internal Server Error, Body: {"error":"x"}',
  ],
  [answer(400, undefined, "<"), "The service broker rejected the request. Status Code: 400 Bad Request, Body: <"],
  [answer(599), "The service broker returned an invalid response. Status Code: 599, Body: "],
  [answer(409), "Resource conflict"],
  [answer(409, { description: "is there" }), "Service broker error: is there"],
  [
    answer(422, { error: "AsyncRequired", description: "x" }),
    "This service plan requires client support for asynchronous service operations.",
  ],
  [answer(201), "The service broker returned an invalid response: expected valid JSON object in body"],
  [{ kind: "unreachable", why: "ECONNREFUSED" }, "The service broker could not be reached (ECONNREFUSED)."],
])("the words of %o", (given, why) => {
  expect(toOutcome("provision", given)).toMatchObject({ why });
});

test.each<[Asked, object, string]>([
  ["update", { instance_usable: false }, "Service broker error: x The service instance cannot be used now."],
  [
    "update",
    { instance_usable: true, update_repeatable: false },
    "Service broker error: x The same update would fail again.",
  ],
  ["deprovision", { instance_usable: false }, "Service broker error: x The service instance cannot be used now."],
  ["provision", { instance_usable: false, update_repeatable: false }, "Service broker error: x"],
])("%s: what a broker says of the instance in a failure: %j", (asked, said, why) => {
  for (const status of [400, 500])
    expect(toOutcome(asked, answer(status, { description: "x", ...said }))).toMatchObject({ why });
});

test("words have a bound", () => {
  const { why } = toOutcome("provision", answer(500, { description: "x".repeat(20_000) })) as { why: string };
  expect([why.length < 9000, why.endsWith("check the broker's logs")]).toEqual([true, true]);
});

test.each<["create" | "update" | "delete", BrokerAnswer, object]>([
  ["create", answer(200, { state: "succeeded", description: "fast" }), { state: "succeeded", description: "fast" }],
  ["create", answer(200, { state: "failed", description: "no disk" }), { state: "failed", description: "no disk" }],
  ["create", answer(200, { state: "in progress", description: "half" }), { state: "in progress", description: "half" }],
  ["create", answer(200, { state: "odd" }), { state: "in progress" }],
  ["create", answer(400, { description: "no such operation" }), { state: "failed", description: "no such operation" }],
  ["create", answer(404), { state: "in progress" }],
  ["create", answer(500), { state: "in progress" }],
  ["create", { kind: "lost", why: "x" }, { state: "in progress" }],
  ["create", answer(410), { state: "failed" }],
  ["delete", answer(410), { state: "succeeded" }],
  [
    "update",
    answer(200, { state: "failed", description: "no disk.", instance_usable: false, update_repeatable: false }),
    { description: "no disk. The service instance cannot be used now. The same update would fail again." },
  ],
  ["create", answer(200, { state: "failed", description: "no", instance_usable: false }), { description: "no" }],
])("last_operation, %s: %o", (type, given, progress) => {
  expect(toProgress(type, given)).toMatchObject(progress);
});

test("questions get rarer, and the broker may say when", () => {
  expect([0, 100, 10_000].map((elapsed) => pollDelaySeconds(elapsed, undefined))).toEqual([2, 10, 60]);
  expect([0, 30, 1e9].map((after) => pollDelaySeconds(0, after))).toEqual([1, 30, 86_400]);
  expect([0, 3, 20].map(retryDelaySeconds)).toEqual([10, 80, 3600]);
});
