// The oldest brokers of a space have a place; the platform's all have one.
import { expect, test } from "vitest";
import { isBeyondLimit, isFull } from "./broker-limit.ts";
import type { ServiceBroker } from "./service-broker.ts";

const brokers = (namespace: string, count: number): ServiceBroker[] =>
  Array.from({ length: count }, (_, at) => {
    const metadata = {
      namespace,
      name: `b${at}`,
      uid: String(at).padStart(3, "0"),
      creationTimestamp: "2026-01-01T00:00:00Z",
    };
    return { metadata } as ServiceBroker;
  });

test.each([
  ["acme-dev", 19, false],
  ["acme-dev", 20, true],
  ["cupola-system", 500, false],
])("%s with %s is full: %s", (namespace, count, full) =>
  expect(isFull(namespace, brokers(namespace, count))).toBe(full),
);

test("those beyond the limit are the youngest", () => {
  const all = brokers("acme-dev", 23);
  const beyond = all.filter((one) => isBeyondLimit(one, all.toReversed()));
  expect(beyond.map(({ metadata }) => metadata.name)).toEqual(["b20", "b21", "b22"]);
});
