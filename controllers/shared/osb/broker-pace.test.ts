// Shares of requests to brokers: one broker's, one space's, one org's, and that others always find a place.
import { expect, test } from "vitest";
import { createBrokerPace, type PacedBroker } from "./broker-pace.ts";

const SYSTEM = "cupola-system";
const own = (name: string, namespace = "evil-dev", tenant = "evil"): PacedBroker => ({ namespace, name, tenant });
const platform = (name: string): PacedBroker => ({ namespace: SYSTEM, name, tenant: name });

/** How many of the requests find a place, none of which ends. */
function countTaken(pace: ReturnType<typeof createBrokerPace>, brokers: readonly PacedBroker[]): number {
  return brokers.filter((broker) => pace.take(broker)).length;
}
const times = (count: number, of: (at: number) => PacedBroker): PacedBroker[] =>
  Array.from({ length: count }, (_, at) => of(at));

test.each<[string, PacedBroker[], number]>([
  ["one broker", times(50, () => own("b")), 4],
  ["222 brokers of one space", times(222, (at) => own(`b${at}`)), 4],
  ["a broker in each of 50 spaces of one org", times(50, (at) => own("b", `evil-${at}`)), 11],
  ["one broker of the platform", times(50, () => platform("b")), 4],
])("%s: %s", (_, brokers, most) => {
  const pace = createBrokerPace();
  expect(countTaken(pace, brokers)).toBe(most);
  expect([pace.take(own("b", "acme-dev", "acme")), pace.take(platform("other"))]).not.toContain(undefined);
});

test("all requests at once are fewer than a controller has workers", () => {
  const pace = createBrokerPace();
  const taken = countTaken(pace, [
    ...times(500, (at) => own("b", `space-${at}`, `org-${at}`)),
    ...times(500, (at) => platform(`b${at}`)),
  ]);
  expect(taken).toBeLessThan(48);
});

test("a place is given back, also after a failure", async () => {
  const pace = createBrokerPace({ broker: 1, space: 1, pool: 4 });
  const failing = pace.run(own("b"), () => Promise.reject(new Error("no")));
  expect(await pace.run(own("b"), () => Promise.resolve("in vain"))).toBeUndefined();
  await expect(failing).rejects.toThrow("no");
  expect(await pace.run(own("b"), () => Promise.resolve("done"))).toBe("done");
});

test("a broker that was silent is asked one thing at a time until it answers", () => {
  let time = 0;
  const pace = createBrokerPace(undefined, () => time);
  const silent = pace.take(own("b"));
  time += 60_000;
  silent?.();
  const again = pace.take(own("b"));
  expect([again === undefined, pace.take(own("b"))]).toEqual([false, undefined]);
  again?.();
  expect(
    countTaken(
      pace,
      times(10, () => own("b")),
    ),
  ).toBe(4);
});
