// How `cup` prints progress and a program's own output.
import { expect, test } from "vitest";
import { bar, printOutput } from "./output.ts";

test.each([
  [0, 40 * 2 ** 20, "░░░░░░░░░░░░░░░░░░░░░░░░ 0B of 40M"],
  [10 * 2 ** 20, 40 * 2 ** 20, "██████░░░░░░░░░░░░░░░░░░ 10M of 40M"],
  [40 * 2 ** 20, 40 * 2 ** 20, "████████████████████████ 40M of 40M"],
  [0, 0, "████████████████████████ 0B of 0B"],
])("%d of %d bytes", (done, total, expected) => {
  expect(bar(done, total).trimEnd()).toBe(expected);
});

test.each([
  [true, "a^[]0;title^Gb^[[2Jc"],
  [false, "a\u001b]0;title\u0007b\u001b[2Jc"],
])("a program's line with control characters, to a terminal: %s", (isTTY, expected) => {
  const written: string[] = [];
  const stream = { isTTY, write: (text: string) => written.push(text) } as unknown as NodeJS.WriteStream;
  printOutput(stream, "a\u001b]0;title\u0007b\u001b[2Jc");
  expect(written).toEqual([`${expected}\n`]);
});
