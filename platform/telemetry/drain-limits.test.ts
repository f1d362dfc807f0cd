// Drains over the limits: the oldest stay, and no org takes another's.
import { expect, test } from "vitest";
import { parseDrainAddress, type DrainAddress } from "../../telemetry/drains/drain-address.ts";
import { chooseDrains, MAX_DRAINS_OF_APP, type CountedDrain } from "./drain-limits.ts";

let made = 0;
function aDrain(org: string, app: string, url = `syslog://logs.example.com:${++made}`): CountedDrain {
  const since = new Date(Date.UTC(2026, 0, 1) + ++made * 1000).toISOString();
  return {
    key: `b${made}`,
    version: "1",
    since,
    instance: `i${made}`,
    app: { guid: app, name: app, space: "dev", org },
    address: parseDrainAddress(url) as DrainAddress,
    certificates: {},
    network: { lookup: () => undefined, mayConnect: () => true },
  };
}
const keysOf = (drains: readonly CountedDrain[]): string[] => drains.map(({ key }) => key).sort();
const several = (count: number, org: string): CountedDrain[] =>
  Array.from({ length: count }, (_none, at) => aDrain(org, `${org}-${at}`));

test("all are used while there are few, in whatever order they come", () => {
  const drains = [...several(3, "acme"), ...several(2, "evil")];
  expect(keysOf(chooseDrains(drains.toReversed()).used)).toEqual(keysOf(drains));
});

test("an app keeps its oldest ones, and one drain to an address", () => {
  const [first, again] = [aDrain("acme", "shop", "syslog://one:1"), aDrain("acme", "shop", "syslog://one:1")];
  expect(keysOf(chooseDrains([again, first]).used)).toEqual([first.key]);
  const many = Array.from({ length: MAX_DRAINS_OF_APP + 2 }, () => aDrain("acme", "shop"));
  const { used, left } = chooseDrains(many.toReversed());
  expect(keysOf(used)).toEqual(keysOf(many.slice(0, MAX_DRAINS_OF_APP)));
  expect(left).toMatchObject([{ limit: "app" }, { limit: "app" }]);
});

test("of several bindings to one instance the newest is used, in the place of the oldest", () => {
  const [old, other, renewed] = [1, 2, 3].map(() => aDrain("acme", "shop", "syslog://one:1")) as [
    CountedDrain,
    CountedDrain,
    CountedDrain,
  ];
  const rotated = { ...renewed, instance: old.instance };
  expect(keysOf(chooseDrains([old, other, rotated]).used)).toEqual([renewed.key]);
  const rest = several(3, "evil");
  expect(keysOf(chooseDrains([old, ...rest, rotated], 1).used)).toEqual([renewed.key]);
});

test("an org that wants all of them leaves the others theirs, and those that run stay when newer ones come", () => {
  const evil = several(20, "evil");
  const before = chooseDrains(evil, 10);
  expect(keysOf(before.used)).toEqual(keysOf(evil.slice(0, 10)));
  expect(keysOf(chooseDrains([...evil, ...several(5, "evil")], 10).used)).toEqual(keysOf(before.used));
  const acme = several(3, "acme");
  const { used, left } = chooseDrains([...evil, ...acme], 10);
  expect(keysOf(used)).toEqual(keysOf([...evil.slice(0, 7), ...acme]));
  expect(left).toHaveLength(13);
  expect(left[0]).toMatchObject({ limit: "platform" });
});
