// Parsing of manifest routes, and default and random hosts.
import { expect, test } from "vitest";
import { defaultHost, parseRoute, randomHost, splitHost } from "./route-address.ts";

test.each<[string, object | undefined]>([
  ["a.example", { hostname: "a.example", path: "", port: 0 }],
  ["https://A.Example/", { hostname: "A.Example", path: "", port: 0 }],
  ["a.example/B/c", { hostname: "a.example", path: "/B/c", port: 0 }],
  ["tcp://a.example:1024", { hostname: "a.example", path: "", port: 1024 }],
  ["*.a.example", { hostname: "*.a.example", path: "", port: 0 }],
  ["a b", undefined],
  ["a.example/x?y", undefined],
  ["", undefined],
])("route %s", (text, expected) => {
  expect(parseRoute(text)).toEqual(expected);
});

test.each<[string, object | undefined]>([
  ["a.example", { host: "", domain: "a.example" }],
  ["x.a.example", { host: "x", domain: "a.example" }],
  ["MyApp.A.Example", { host: "MyApp", domain: "a.example" }],
  ["A.Example", { host: "", domain: "a.example" }],
  ["x.y.a.example", undefined],
  ["*.a.example", { host: "*", domain: "a.example" }],
  ["b.a.example", { host: "", domain: "b.a.example" }],
  ["example", undefined],
])("host and domain of %s", (hostname, expected) => {
  expect(splitHost(hostname, (name) => name === "a.example" || name === "b.a.example")).toEqual(expected);
});

test.each([
  ["My App", "My-App"],
  ["a_b", "a-b"],
  ["MyApp", "MyApp"],
  ["x".repeat(63), "x".repeat(63)],
  ["x".repeat(64), undefined],
  ["日本", undefined],
  ["-a", undefined],
  ["a.b", undefined],
])("default host of %s", (name, host) => {
  expect(defaultHost(name)).toBe(host);
});

test("random hosts are valid for any app name and any random numbers", () => {
  for (const name of ["app", "日本", "x".repeat(255)])
    for (const dice of [0, 0.5, 0.999999])
      expect(randomHost(name, () => dice)).toMatch(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
});
