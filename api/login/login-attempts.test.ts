// Failed logins by address: how many are taken, whom they count for, and when they are forgotten.
import { expect, test } from "vitest";
import { createLoginAttempts } from "./login-attempts.ts";

const direct = { peer: "192.0.2.1", forwarded: undefined };
const behind = (forwarded: string) => ({ peer: "192.0.2.9", forwarded });
const times = (count: number, run: (index: number) => void): void =>
  Array.from({ length: count }).forEach((_, index) => run(index));

test("an address waits after 30 failures, until a minute after the first", () => {
  let time = 0;
  const attempts = createLoginAttempts(() => time);
  times(29, () => attempts.addFailure(direct));
  expect(attempts.findWait(direct)).toBeUndefined();
  time = 20_000;
  attempts.addFailure(direct);
  expect(attempts.findWait(direct)).toBe(40);
  expect(attempts.findWait({ peer: "192.0.2.2", forwarded: undefined })).toBeUndefined();
  time = 60_000;
  expect(attempts.findWait(direct)).toBeUndefined();
});

test("a client behind a proxy does not lock out the others behind it", () => {
  const attempts = createLoginAttempts(() => 0);
  times(30, () => attempts.addFailure(behind("198.51.100.1")));
  expect(attempts.findWait(behind("198.51.100.1"))).toBe(60);
  expect(attempts.findWait(behind("198.51.100.2"))).toBeUndefined();
});

test("one that invents a new address each time waits after 600", () => {
  const attempts = createLoginAttempts(() => 0);
  times(600, (index) => attempts.addFailure(behind(`198.51.100.${index}`)));
  expect(attempts.findWait(behind("203.0.113.1"))).toBe(60);
});
