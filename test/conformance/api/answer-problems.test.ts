// The judge of all answers finds what it is there to find.
import { expect, test } from "vitest";
import { createEndpoints } from "../../../api/endpoints.ts";
import { responsesOf } from "../../../api/openapi/responses.ts";
import type { Services } from "../../../api/routing/services.ts";
import { answerProblems } from "./answer-problems.ts";

const guid = "0192f0c1-2222-7333-8444-555566667777";
const time = "2026-01-01T00:00:00Z";
const segment = {
  guid,
  created_at: time,
  updated_at: time,
  name: "one",
  metadata: { labels: {}, annotations: {} },
  links: {
    self: { href: `http://127.0.0.1:1/v3/isolation_segments/${guid}` },
    organizations: { href: `http://127.0.0.1:1/v3/isolation_segments/${guid}/organizations` },
  },
};

const judged = (body: unknown, status = 200): string[] =>
  answerProblems("GET", `/v3/isolation_segments/${guid}`, {
    status,
    headers: new Headers(),
    text: JSON.stringify(body),
  }).map((problem) => problem.replace("GET /v3/isolation_segments/:guid ", ""));

test("an answer as CAPI's has no problem", () => {
  expect(judged(segment)).toEqual([]);
});

test.each<[string, unknown, RegExp]>([
  ["a member too many", { ...segment, more: 1 }, /^200: the body: Unrecognized key: "more"/],
  ["a member that is missing", { ...segment, name: undefined }, /^200: name: /],
  ["null where CAPI has none", { ...segment, name: null }, /^200: name: .*, got null/],
  ["a time of another form", { ...segment, created_at: "2026-01-01T00:00:00.000Z" }, /^200: created_at: /],
  [
    "a link that leads nowhere",
    { ...segment, links: { ...segment.links, self: { href: "http://127.0.0.1:1/v3/segments/1" } } },
    /^200: links.self: .* leads to no endpoint/,
  ],
])("%s is found", (_what, body, problem) => {
  expect(judged(body)).toEqual([expect.stringMatching(problem)]);
});

test("an error outside of the catalogue, and a status that was not announced, are found", () => {
  expect(judged({ errors: [{ code: 1, title: "CF-Other", detail: "x" }] }, 404)).toEqual([
    expect.stringMatching(/^404: errors: is not in the catalogue/),
  ]);
  expect(judged(segment, 201)).toEqual([expect.stringMatching(/^201: this status is not in/)]);
});

test("every endpoint says what it answers", () => {
  expect(createEndpoints({} as Services).filter((row) => !responsesOf(row))).toEqual([]);
});
