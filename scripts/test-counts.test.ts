// The closing line is what CI and people read: it must not turn a failure into a pass.
import { expect, test } from "vitest";
import { closingLine, closingLines, NOTHING, parseClosingLines, sum } from "./test-counts.ts";

test("the line says skipped only where something was", () => {
  expect(closingLine({ ...NOTHING, passed: 3 })).toBe("3 passed, 0 failed");
  expect(
    closingLine(
      sum([
        { ...NOTHING, passed: 1, failed: 2 },
        { ...NOTHING, passed: 2, skipped: 1 },
      ]),
    ),
  ).toBe("3 passed, 2 failed, 1 skipped");
});

test.each([
  ["x\n4 passed, 1 failed, 2 skipped\n", { passed: 4, failed: 1, skipped: 2, flaky: [] }],
  ["1 passed, 0 failed\nmore\n2 passed, 0 failed", { ...NOTHING, passed: 2 }],
  [closingLines({ ...NOTHING, passed: 2, flaky: ["a: b"] }), { ...NOTHING, passed: 2, flaky: ["a: b"] }],
  ["stage: 4 passed, 1 failed", undefined],
  ["", undefined],
])("the last closing line of %j", (output, count) => {
  expect(parseClosingLines(output)).toEqual(count);
});
