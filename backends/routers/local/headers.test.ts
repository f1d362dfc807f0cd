// Which headers an instance gets, and which the client.
import { expect, test } from "vitest";
import { requestHeaders, responseHeaders, type RequestFacts } from "./headers.ts";
import type { Endpoint } from "./routing-table.ts";

const facts: RequestFacts = { remoteAddress: "10.0.0.9", requestId: "id", receivedAt: 1, scheme: "http" };
const endpoint = { appGUID: "app", instanceGUID: "instance", index: 0 } as Endpoint;
const sent = (raw: string[], upgrade = false): Headers => {
  const headers = new Headers();
  const result = requestHeaders(raw, facts, endpoint, upgrade);
  for (let i = 0; i < result.length; i += 2) headers.append(result[i] ?? "", result[i + 1] ?? "");
  return headers;
};

test.each([
  "host",
  "x-forwarded-proto",
  "X-Forwarded-Host",
  "forwarded",
  "content-length",
  "x-request-start",
  "x-real-ip",
])("Connection: %s does not remove that header", (name) => {
  expect(sent(["Host", "a", "Connection", `close, ${name}`, name, "1"]).get(name)).toMatch(/1$/);
});

test("Connection: x-forwarded-for does not remove the addresses", () => {
  const headers = sent(["Connection", "x-forwarded-for", "X-Forwarded-For", "10.0.0.1"]);
  expect(headers.get("x-forwarded-for")).toBe("10.0.0.1, 10.0.0.9");
});

test.each([false, true])("headers of one connection stay behind (upgrade: %s)", (upgrade) => {
  const raw = ["Connection", "Upgrade, X-Secret", "X-Secret", "1", "Keep-Alive", "1", "TE", "trailers", "X-Kept", "1"];
  const headers = sent([...raw, "Upgrade", "websocket, h2c"], upgrade);
  expect(["x-secret", "keep-alive", "te"].map((name) => headers.get(name))).toEqual([null, null, null]);
  expect(headers.get("x-kept")).toBe("1");
  expect([headers.get("connection"), headers.get("upgrade")]).toEqual(
    upgrade ? ["Upgrade", "websocket"] : [null, null],
  );
});

test("an answer loses the headers of its connection and gets the request's id", () => {
  const raw = ["Connection", "X-Hop", "X-Hop", "1", "Content-Length", "1", "X-Vcap-Request-Id", "forged"];
  expect(responseHeaders(raw, "id")).toEqual(["Content-Length", "1", "X-Vcap-Request-Id", "id"]);
  expect(responseHeaders(["Connection", "Upgrade", "Upgrade", "WebSocket"], "id", true)).toEqual([
    "Connection",
    "Upgrade",
    "Upgrade",
    "websocket",
    "X-Vcap-Request-Id",
    "id",
  ]);
});
