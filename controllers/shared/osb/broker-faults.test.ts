// Faults of a broker at each step of the Open Service Broker API, by nock: statuses, cut bodies, and redirects to hosts that must not see the credentials.
import nock from "nock";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { cutAfter, fakeNetwork, restoreNetwork } from "../../../kube/testing/faked-network.ts";
import { callBroker, type BrokerAnswer, type BrokerRequest } from "./call-broker.ts";
import { toOutcome, toProgress, type Asked } from "./outcomes.ts";

const BROKER = "https://broker.example";
const ACCESS = { url: BROKER, username: "ann", password: "hidden-word" };
const INSTANCE = "/v2/service_instances/one";
const BINDING = `${INSTANCE}/service_bindings/two`;
/** The last member is the operation; a question is none. */
const STEPS: [string, BrokerRequest, Asked | undefined][] = [
  ["a catalog", { method: "GET", path: "/v2/catalog" }, undefined],
  ["a provision", { method: "PUT", path: INSTANCE, body: { plan_id: "p" } }, "provision"],
  ["an update", { method: "PATCH", path: INSTANCE, body: { plan_id: "q" } }, "update"],
  ["a last operation", { method: "GET", path: `${INSTANCE}/last_operation` }, undefined],
  ["a bind", { method: "PUT", path: BINDING, body: { plan_id: "p" } }, "bind"],
  ["a fetch of a binding", { method: "GET", path: BINDING }, undefined],
  ["an unbind", { method: "DELETE", path: BINDING }, "unbind"],
  ["a deprovision", { method: "DELETE", path: INSTANCE }, "deprovision"],
];

beforeAll(fakeNetwork);
afterEach(() => {
  expect(nock.pendingMocks()).toEqual([]);
  nock.cleanAll();
});
afterAll(restoreNetwork);

/** The broker's answer, given once; a second request would find nothing and be `unreachable`. */
const intercept = ({ method, path }: BrokerRequest): nock.Interceptor => nock(BROKER).intercept(path, method);

async function ask(request: BrokerRequest): Promise<BrokerAnswer> {
  const answer = await callBroker(ACCESS, request, AbortSignal.timeout(10_000));
  expect(JSON.stringify(answer)).not.toContain("hidden-word");
  return answer;
}

/** The controllers' reading of it. */
const meaning = (asked: Asked | undefined, answer: BrokerAnswer): string =>
  asked ? toOutcome(asked, answer).kind : toProgress("create", answer).state;

describe.each(STEPS)("%s", (_step, request, asked) => {
  test("that the broker has no time for is asked again, when the broker says", async () => {
    intercept(request).reply(429, { description: "slow down" }, { "retry-after": "7" });
    const answer = await ask(request);
    expect(answer).toMatchObject({ kind: "answer", status: 429, retryAfterSeconds: 7 });
    expect(meaning(asked, answer)).toBe(asked ? "later" : "in progress");
  });

  test.each([500, 502, 503, 504])(
    "answered with %i may have been done, and only an update is sent again",
    async (status) => {
      intercept(request).reply(status, "<html>gateway</html>");
      const answer = await ask(request);
      expect(answer).toMatchObject({ kind: "answer", status, text: "<html>gateway</html>" });
      const isRepeated = asked === "update" && status !== 500;
      expect(meaning(asked, answer)).toBe(!asked ? "in progress" : isRepeated ? "later" : "unclear");
    },
  );

  test.each([
    ["a success", 200],
    ["a refusal", 400],
  ])("whose answer, %s, is cut in the middle counts as none", async (_name, status) => {
    intercept(request).reply(status, () => cutAfter('{"credentials":{"uri":"x'), { "content-length": "400" });
    const answer = await ask(request);
    expect(answer).toMatchObject({ kind: "lost" });
    expect(JSON.stringify(answer)).not.toContain("uri");
    expect(meaning(asked, answer)).toBe(!asked ? "in progress" : asked === "update" ? "later" : "unclear");
  });

  test("whose connection breaks before the answer may have been done", async () => {
    intercept(request).replyWithError(Object.assign(new Error("socket hang up"), { code: "ECONNRESET" }));
    expect(meaning(asked, await ask(request))).toBe(!asked ? "in progress" : asked === "update" ? "later" : "unclear");
  });

  test.each([301, 302, 303, 307, 308])("redirected by %i goes to nobody else", async (status) => {
    const location = "https://elsewhere.example/v2/catalog";
    const elsewhere = nock("https://elsewhere.example").intercept(/.*/, request.method).reply(200, {});
    intercept(request).reply(status, "", { location });
    const answer = await ask(request);
    expect(answer).toMatchObject({ kind: "answer", status });
    expect(elsewhere.isDone()).toBe(false);
    nock.cleanAll();
    expect(meaning(asked, answer)).toBe(asked ? "refused" : "in progress");
  });
});

test("a broker's plain address of the same host is another address: nothing follows there", async () => {
  const plain = nock("http://broker.example").get("/v2/catalog").reply(200, {});
  nock(BROKER).get("/v2/catalog").reply(308, "", { location: "http://broker.example/v2/catalog" });
  expect(await ask({ method: "GET", path: "/v2/catalog" })).toMatchObject({ kind: "answer", status: 308 });
  expect(plain.isDone()).toBe(false);
  nock.cleanAll();
});
