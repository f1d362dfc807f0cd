// The closing line is what CI and people read: it must not turn a failure into a pass.
import { expect, test } from "vitest";
import { closingLine, parseClosingLine, readVitestReport, sum } from "./test-counts.ts";

test("the line says skipped only where something was", () => {
  expect(closingLine({ passed: 3, failed: 0, skipped: 0 })).toBe("3 passed, 0 failed");
  expect(
    closingLine(
      sum([
        { passed: 1, failed: 2, skipped: 0 },
        { passed: 2, failed: 0, skipped: 1 },
      ]),
    ),
  ).toBe("3 passed, 2 failed, 1 skipped");
});

test.each([
  ["x\n4 passed, 1 failed, 2 skipped\n", { passed: 4, failed: 1, skipped: 2 }],
  ["1 passed, 0 failed\nmore\n2 passed, 0 failed", { passed: 2, failed: 0, skipped: 0 }],
  ["stage: 4 passed, 1 failed", undefined],
  ["", undefined],
])("the last closing line of %j", (output, count) => {
  expect(parseClosingLine(output)).toEqual(count);
});

test("a missing report is a failure", () => {
  expect(readVitestReport("/nonexistent/report.json")).toEqual({ passed: 0, failed: 1, skipped: 0 });
});
