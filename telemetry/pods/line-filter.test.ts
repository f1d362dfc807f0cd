// A container's output within its log rate limit.
import { expect, test } from "vitest";
import type { ContainerLine } from "./container-log.ts";
import { createLineFilter } from "./line-filter.ts";

const line = (second: number, message: string): ContainerLine => ({
  time: BigInt(second) * 1_000_000_000n + 5n,
  message,
  isOutput: true,
});

test("lines beyond the limit of their second are left out, whenever they are read", () => {
  const said: string[] = [];
  const filter = createLineFilter(
    () => 10,
    ({ time, message, stream }) => said.push(`${time} ${stream} ${message}`),
  );
  const lines = [line(1, "12345678"), line(1, "123"), line(1, "4"), line(2, "1234567890"), line(2, "1")];
  expect(lines.map(filter)).toEqual([true, false, false, true, false]);
  expect(said).toEqual([
    "1000000005 ERR app instance exceeded log rate limit (10 bytes/sec)",
    "2000000005 ERR app instance exceeded log rate limit (10 bytes/sec)",
  ]);
});

test("what the platform says of a container is no output of it", () => {
  const filter = createLineFilter(
    () => 0,
    () => undefined,
  );
  expect(filter({ time: 1n, message: "Container became healthy", sourceType: "CELL" })).toBe(true);
  expect(filter(line(1, "x"))).toBe(false);
});

test("a limit that becomes known holds from then on", () => {
  let limit = -1;
  const filter = createLineFilter(
    () => limit,
    () => undefined,
  );
  expect(filter(line(1, "x".repeat(100)))).toBe(true);
  limit = 10;
  expect(filter(line(1, "x".repeat(100)))).toBe(false);
});
