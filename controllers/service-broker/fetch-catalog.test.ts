// A broker's Ready condition by its answer.
import { expect, test } from "vitest";
import type { BrokerAnswer } from "../shared/osb/call-broker.ts";
import { toFetchedCatalog } from "./fetch-catalog.ts";

const answer = (status: number, body?: Record<string, unknown>): BrokerAnswer => ({ kind: "answer", status, body });
const plan = { id: "p", name: "small", description: "d" };
const service = { id: "s", name: "db", description: "d", bindable: true, plans: [plan] };

test("a catalog is taken", () => {
  expect(toFetchedCatalog(answer(200, { services: [service] }))).toMatchObject({
    catalog: { services: [{ id: "s" }] },
  });
});

test.each<[string, BrokerAnswer, string, RegExp]>([
  ["no connection", { kind: "unreachable", why: "ECONNREFUSED" }, "BrokerUnreachable", /ECONNREFUSED.*spec\.url/],
  ["no answer", { kind: "lost", why: "no answer within 60 s" }, "BrokerFailed", /no answer within 60 s/],
  ["a wrong password", answer(401), "BrokerRefused", /username or password/],
  ["a redirect", answer(302), "BrokerRefused", /not followed/],
  ["no such path", answer(404), "BrokerRefused", /404/],
  [
    "an error",
    { kind: "answer", status: 500, body: undefined, text: "no disk" },
    "BrokerFailed",
    /^The service broker returned an invalid response\. Status Code: 500 Internal Server Error, Body: no disk$/,
  ],
  ["garbage", answer(200), "CatalogInvalid", /no JSON object/],
  ["no services", answer(200, {}), "CatalogInvalid", /services/],
  ["a service twice", answer(200, { services: [service, service] }), "CatalogInvalid", /service id 's' is there twice/],
  [
    "an unknown requirement",
    answer(200, { services: [{ ...service, requires: ["root"] }] }),
    "CatalogInvalid",
    /services\.0\.requires/,
  ],
  ["no plans", answer(200, { services: [{ ...service, plans: [] }] }), "CatalogInvalid", /plans/],
  ["an invisible name", answer(200, { services: [{ ...service, name: "d\u200bb" }] }), "CatalogInvalid", /zero-width/],
])("%s", (_, given, reason, message) => {
  const fetched = toFetchedCatalog(given);
  expect(fetched).toMatchObject({ reason, message: expect.stringMatching(message) });
});
