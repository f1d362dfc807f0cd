// Valid routes and destinations.
import { expect, test } from "vitest";
import type { Destination } from "../../crds/route/route.ts";
import { addDestinations, checkReplacement, createRouteBody } from "./payload.ts";

const one = (app: string, more: Partial<Destination> = {}): Destination => ({
  app,
  process: "web",
  port: 0,
  protocol: "http1",
  ...more,
});
const key = ({ app, process, port }: Destination): string => `${app} ${process} ${port || 8080}`;

test.each<[string, Destination[], Destination[], Destination[] | RegExp]>([
  ["another app", [one("a")], [one("b")], [one("a"), one("b")]],
  ["the same one with an explicit port", [one("a")], [one("a", { port: 8080 })], [one("a")]],
  ["another port", [one("a")], [one("a", { port: 9000 })], [one("a"), one("a", { port: 9000 })]],
  ["another process", [one("a")], [one("a", { process: "worker" })], [one("a"), one("a", { process: "worker" })]],
  ["another protocol", [one("a")], [one("a", { protocol: "http2" })], /already exists with protocol: http1/],
  ["one twice", [], [one("a"), one("a", { port: 8080 })], /duplicates/],
  ["beside weights", [one("a", { weight: 100 })], [one("b")], /weighted/],
])("adding %s", (_what, current, added, expected) => {
  if (expected instanceof RegExp) expect(() => addDestinations(current, added, key)).toThrow(expected);
  else expect(addDestinations(current, added, key)).toEqual(expected);
});

test.each<[string, Destination[], RegExp | undefined]>([
  ["nothing", [], undefined],
  ["no weights", [one("a"), one("b")], undefined],
  ["weights of 100", [one("a", { weight: 1 }), one("b", { weight: 99 })], undefined],
  ["weights of 99", [one("a", { weight: 1 }), one("b", { weight: 98 })], /add up to 100/],
  ["some weights", [one("a", { weight: 100 }), one("b")], /both weighted and unweighted/],
  ["one twice", [one("a"), one("a")], /duplicates/],
])("replacing by %s", (_what, destinations, problem) => {
  const check = (): void => checkReplacement(destinations, key);
  if (problem) expect(check).toThrow(problem);
  else expect(check).not.toThrow();
});

const relationships = { space: { data: { guid: "s" } }, domain: { data: { guid: "d" } } };

test.each<[object, boolean]>([
  [{ host: "" }, true],
  [{ host: "*" }, true],
  [{ host: "a_b-C9" }, true],
  [{ host: "a.b" }, false],
  [{ host: "**" }, false],
  [{ host: "ä" }, false],
  [{ host: "x".repeat(63) }, true],
  [{ host: "x".repeat(64) }, false],
  [{ path: "" }, true],
  [{ path: "/a/b%20c" }, true],
  [{ path: "/" }, false],
  [{ path: "a" }, false],
  [{ path: "/a b" }, false],
  [{ path: "/a?b" }, false],
  [{ path: "/a\n" }, false],
  [{ options: null }, true],
  [{ options: {} }, true],
  [{ options: { loadbalancing: null } }, true],
  [{ options: { loadbalancing: "round-robin" } }, false],
  [{ port: 65536 }, false],
])("%j: %s", (fields, accepted) => {
  expect(createRouteBody.safeParse({ ...fields, relationships }).success).toBe(accepted);
});

test("a host keeps the case it was given", () => {
  expect(createRouteBody.parse({ host: "MyApp", relationships }).host).toBe("MyApp");
});
