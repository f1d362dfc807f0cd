// Which addresses route services may have: none of the cluster's own, unless the operator opens them, and never the proxy's machine.
import { expect, test } from "vitest";
import type { Reader } from "../../kube/cache/reader.ts";
import { routeServiceRuleOf } from "./service-addresses.ts";

const reader = (data: Record<string, string> | undefined, domains: string[] = []): Reader =>
  ({ find: () => data && { data }, list: () => domains.map((name) => ({ spec: { name } })) }) as unknown as Reader;
const opens = (address: string, data?: Record<string, string>): boolean =>
  routeServiceRuleOf("guard.example.org", reader(data))(address);

test.each([
  ["8.8.8.8", true],
  ["2606:4700::1", true],
  ["10.0.0.1", false],
  ["169.254.169.254", false],
  ["127.0.0.1", false],
  ["::ffff:169.254.169.254", false],
  ["::ffff:127.0.0.1", false],
  ["64:ff9b::a9fe:a9fe", false],
  ["::1", false],
])("%s by the defaults", (address, isOpen) => expect(opens(address)).toBe(isOpen));

test("the operator opens ranges, and the proxy's own machine never", () => {
  const data = { "broker-egress-cidrs": "10.0.0.0/8, 127.0.0.0/8" };
  expect(opens("10.0.0.1", data)).toBe(true);
  expect(opens("127.0.0.1", data)).toBe(false);
  expect(opens("10.0.0.1", { isolation: "off" })).toBe(true);
  expect(["127.0.0.1", "::1", "0.0.0.0", "::ffff:7f00:1"].filter((one) => opens(one, { isolation: "off" }))).toEqual(
    [],
  );
});

test("names of a shared domain are the operator's; an address is none", () => {
  const read = reader(undefined, ["apps.example.org"]);
  expect(routeServiceRuleOf("guard.apps.example.org", read)("10.0.0.1")).toBe(true);
  expect(routeServiceRuleOf("guard.apps.example.org.evil.test", read)("10.0.0.1")).toBe(false);
  expect(routeServiceRuleOf("10.0.0.1", read)("10.0.0.1")).toBe(false);
});
