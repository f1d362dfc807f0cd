// Valid routes and destinations.
import { expect, test } from "vitest";
import type { Destination } from "../../crds/route/route.ts";
import { addDestinations, checkReplacement, createRouteBody } from "./payload.ts";

const one = (app: string, more: Partial<Destination> = {}): Destination => ({
  app,
  namespace: "",
  process: "web",
  port: 0,
  protocol: "http1",
  ...more,
});
const key = ({ app, namespace, process, port }: Destination): string =>
  `${namespace} ${app} ${process} ${port || 8080}`;

const by = { key, describe: ({ app }: Destination): string => app };
const many = Array.from({ length: 100 }, (_, port) => one("a", { port: port + 1 }));

test.each<[string, Destination[], Destination[], Destination[] | RegExp]>([
  ["the hundredth", many.slice(1), [many[0]!], [...many.slice(1), many[0]!]],
  ["one too many", many, [one("b")], /at most 100 destinations/],
  ["another app", [one("a")], [one("b")], [one("a"), one("b")]],
  ["the same one with an explicit port", [one("a")], [one("a", { port: 8080 })], [one("a")]],
  ["another port", [one("a")], [one("a", { port: 9000 })], [one("a"), one("a", { port: 9000 })]],
  [
    "an app of the same name in another space",
    [one("a")],
    [one("a", { namespace: "b" })],
    [one("a"), one("a", { namespace: "b" })],
  ],
  ["another process", [one("a")], [one("a", { process: "worker" })], [one("a"), one("a", { process: "worker" })]],
  ["another protocol", [one("a")], [one("a", { protocol: "http2" })], /already exists for a, and protocol: http1/],
  ["one twice", [], [one("a"), one("a", { port: 8080 })], /duplicate entries/],
  ["beside weights", [one("a", { weight: 100 })], [one("b")], /weighted/],
])("adding %s", (_what, current, added, expected) => {
  if (expected instanceof RegExp) expect(() => addDestinations(current, added, by)).toThrow(expected);
  else expect(addDestinations(current, added, by)).toEqual(expected);
});

test.each<[string, Destination[], RegExp | undefined]>([
  ["nothing", [], undefined],
  ["no weights", [one("a"), one("b")], undefined],
  ["weights of 100", [one("a", { weight: 1 }), one("b", { weight: 99 })], undefined],
  ["weights of 99", [one("a", { weight: 1 }), one("b", { weight: 98 })], /sum to 100/],
  ["some weights", [one("a", { weight: 100 }), one("b")], /both weighted and unweighted/],
  ["one twice", [one("a"), one("a")], /duplicate entries/],
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
  [{ options: null }, false],
  [{ options: {} }, true],
  [{ options: { loadbalancing: null } }, true],
  [{ options: { loadbalancing: "round-robin" } }, true],
  [{ options: { loadbalancing: "least-connection", hash_header: null } }, true],
  [{ options: { hash: 1 } }, false],
  [{ port: 65536 }, false],
])("%j: %s", (fields, accepted) => {
  expect(createRouteBody.safeParse({ ...fields, relationships }).success).toBe(accepted);
});

test("a host keeps the case it was given", () => {
  expect(createRouteBody.parse({ host: "MyApp", relationships }).host).toBe("MyApp");
});
