// Which requests are bound to an instance, and which answers bind one.
import { describe, expect, test } from "vitest";
import { stickyCookie, stickyInstance } from "./sticky-session.ts";

describe("the instance that a request is bound to", () => {
  test.each([
    [undefined, undefined],
    ["JSESSIONID=a", undefined],
    ["__VCAP_ID__=i", undefined],
    ["JSESSIONID=a; __VCAP_ID__=i", "i"],
    ["other=1;__VCAP_ID__=i-2;JSESSIONID=", "i-2"],
    ["XJSESSIONID=a; __VCAP_ID__=i", undefined],
  ])("%s: %s", (cookies, expected) => {
    expect(stickyInstance(cookies)).toBe(expected);
  });
});

describe("the cookie of an answer", () => {
  const facts = { requested: undefined, instanceGUID: "i", path: "" };

  test.each([
    ["no session", ["Set-Cookie", "a=1", "JSESSIONID", "x"], facts, undefined],
    ["a session", ["set-cookie", "a=1", "Set-Cookie", "JSESSIONID=x"], facts, "__VCAP_ID__=i; Path=/; HttpOnly"],
    [
      "a session's attributes, its own path and Domain left out",
      ["Set-Cookie", "JSESSIONID=x; Path=/own; Domain=d; Secure; SameSite=None; Expires=Thu, 01 Jan 2026 00:00:00 GMT"],
      { ...facts, path: "/api" },
      "__VCAP_ID__=i; Path=/api; HttpOnly; Secure; SameSite=None; Expires=Thu, 01 Jan 2026 00:00:00 GMT",
    ],
    [
      "a session that ends",
      ["Set-Cookie", "JSESSIONID=; Max-Age=0"],
      facts,
      "__VCAP_ID__=i; Path=/; HttpOnly; Max-Age=0",
    ],
    ["the same instance again", ["X-A", "1"], { ...facts, requested: "i" }, undefined],
    ["another instance than asked for", [], { ...facts, requested: "gone" }, "__VCAP_ID__=i; Path=/; HttpOnly"],
    [
      "a cookie that the app sets itself",
      ["Set-Cookie", "__VCAP_ID__=own", "Set-Cookie", "JSESSIONID=x"],
      facts,
      undefined,
    ],
  ])("%s", (_case, headers, given, expected) => {
    expect(stickyCookie(headers, given)).toBe(expected);
  });
});
