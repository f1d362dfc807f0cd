// Parts of a binding that the router serves, and its condition about the others.
import { expect, test } from "vitest";
import type { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import { findLimitation, toRouteEntry, toTCPRoute } from "./to-routing-entries.ts";

const binding = (spec: object): RouteBinding =>
  ({ metadata: {}, spec: { port: 0, internal: false, destinations: [], ...spec } }) as unknown as RouteBinding;

test.each<[string, string | undefined, object]>([
  ["a destination of protocol http1", undefined, { destinations: [{ protocol: "http1" }] }],
  ["a destination of protocol http2", undefined, { destinations: [{ protocol: "http2" }] }],
  [
    "a destination of protocol tcp",
    "ProtocolNotSupported",
    { destinations: [{ protocol: "http1" }, { protocol: "tcp" }] },
  ],
  ["a weight", "WeightsNotSupported", { destinations: [{ protocol: "http1", weight: 1 }] }],
  ["an internal route", "InternalByRouter", { internal: true }],
])("%s is served, with the limitation %s", (_what, reason, spec) => {
  expect(findLimitation(binding(spec))?.reason).toBe(reason);
  expect(toRouteEntry(binding(spec))).toBeDefined();
});

test("a TCP port is a route of its own, not one of HTTP", () => {
  expect(findLimitation(binding({ port: 1234 }))).toBeUndefined();
  expect(toRouteEntry(binding({ port: 1234 }))).toBeUndefined();
  expect([toTCPRoute(binding({ port: 1234 }))?.port, toTCPRoute(binding({}))]).toEqual([1234, undefined]);
});
