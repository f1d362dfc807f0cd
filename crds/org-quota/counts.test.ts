// Which of several objects a quota's number allows.
import { expect, test } from "vitest";
import { findFullPlaces, isFull, waitsForQuota, wantsRoom, type Counted } from "./counts.ts";

const one = (order: string, more: Partial<Counted> = {}): Counted => ({
  uid: order,
  namespace: "dev",
  order,
  isInForce: false,
  ...more,
});
const held = (order: string, namespace = "dev"): Counted => one(order, { isInForce: true, namespace });
const org = (organization: number, spaces: Record<string, number> = {}) => ({
  organization,
  spaces: new Map(Object.entries(spaces)),
});

test.each<[string, Counted[], ReturnType<typeof org>, string[]]>([
  ["room", [held("a")], org(2), []],
  ["none left", [held("a"), held("z", "prod")], org(2), ["organization"]],
  ["none left in the space", [held("a")], org(9, { dev: 1 }), ["space"]],
  ["nowhere", [held("a")], org(1, { dev: 1 }), ["space", "organization"]],
  ["an older one that waits goes first", [one("a")], org(1), ["organization"]],
  ["a younger one that waits does not", [one("z")], org(1), []],
  [
    "an older one that its own space has no room for takes nobody's place",
    [one("a", { namespace: "prod" })],
    org(1, { prod: 0 }),
    [],
  ],
  ["a limit of none", [], org(0), ["organization"]],
])("%s", (_what, others, limits, places) => expect(findFullPlaces(one("m"), others, limits)).toEqual(places));

test("without a limit nothing is full", () => {
  expect([isFull(undefined, 1e9), isFull(1, 0), isFull(1, 1)]).toEqual([false, false, true]);
});

test("who waits says so in the Ready condition", () => {
  const ready = (reason: string) => ({ status: { conditions: [{ type: "Ready", reason }] } });
  expect([waitsForQuota(ready("QuotaExceeded")), waitsForQuota(ready("HostTaken")), waitsForQuota({})]).toEqual([
    true,
    false,
    false,
  ]);
});

test("new ones want room, and those that wait for this reason; no others", () => {
  const ready = (reason: string) => ({ status: { conditions: [{ type: "Ready", reason }] } });
  const reasons = ["QuotaExceeded", "PortQuotaExceeded", "ResourceQuotaExceeded", "PaidPlanNotAllowed", "HostTaken"];
  const wanting = (reason: string) => reasons.filter((one) => wantsRoom(ready(one), reason));
  expect([wantsRoom({}, "QuotaExceeded"), wanting("QuotaExceeded"), wanting("PortQuotaExceeded")]).toEqual([
    true,
    ["QuotaExceeded"],
    ["PortQuotaExceeded"],
  ]);
});
