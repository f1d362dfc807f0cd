// Which reads of a starting process wait for it.
import { expect, test } from "vitest";
import { createStartPolls, FRESH_MS, POLL_MS } from "./start-polls.ts";

const START = 1_000_000;

test("a read soon after the start waits, a single one long after it does not", () => {
  const polls = createStartPolls();
  expect(polls.isWait("a", START, START + FRESH_MS - 1)).toBe(true);
  expect(polls.isWait("a", START, START + FRESH_MS)).toBe(false);
});

test("of reads that follow each other as cf's polls do, all but the first wait; sooner or later ones do not", () => {
  const polls = createStartPolls();
  const late = START + 10 * FRESH_MS;
  expect(polls.isWait("a", START, late)).toBe(false);
  polls.answered("a", late);
  expect(polls.isWait("a", START, late + 3_000)).toBe(true);
  expect(polls.isWait("b", START, late + 3_000)).toBe(false);
  expect(polls.isWait("a", START, late + POLL_MS.to)).toBe(false);
  expect(polls.isWait("a", START, late + 1_000)).toBe(false);
});

test("a thousand processes are remembered, the latest ones", () => {
  const polls = createStartPolls();
  for (let one = 0; one <= 1_000; one += 1) polls.answered(`process-${one}`, START);
  expect(polls.isWait("process-0", 0, START + 3_000)).toBe(false);
  expect(polls.isWait("process-1", 0, START + 3_000)).toBe(true);
});
