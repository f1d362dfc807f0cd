// The counts of vitest's report: a failure stays one unless its file passed when it was run again.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { NOTHING } from "./test-counts.ts";
import { countFiles, readVitestReport, withSecondRun, withUnhandledErrors, type FileResult } from "./vitest-report.ts";

function read(testResults: object[]): FileResult[] | undefined {
  const folder = mkdtempSync(join(tmpdir(), "cupola-counts-"));
  try {
    writeFileSync(join(folder, "report.json"), JSON.stringify({ testResults }));
    return readVitestReport(join(folder, "report.json"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const passed = (name: string) => ({ fullName: name, status: "passed", failureMessages: [] });
const failed = (name: string) => ({ fullName: name, status: "failed", failureMessages: ["Error: never\n at x"] });
const flaky = (name: string) => ({ fullName: name, status: "passed", failureMessages: ["Error: no\n at x"] });

test("a missing report is a failure", () => {
  expect(countFiles(readVitestReport("/nonexistent/report.json"))).toEqual({ ...NOTHING, failed: 1 });
});

test("a test that passed only when it was tried again is flaky, and says what failed first", () => {
  const skipped = { fullName: "e", status: "skipped", failureMessages: [] };
  const files = read([
    { name: "/a.test.ts", status: "passed", assertionResults: [flaky("a b"), passed("c")] },
    { name: "/b.test.ts", status: "failed", assertionResults: [failed("d"), skipped] },
  ]);
  expect(countFiles(files)).toEqual({ passed: 2, failed: 1, skipped: 1, flaky: ["a b: Error: no"] });
});

test("a file whose hook or import failed has a failure", () => {
  const files = read([{ name: "/a.test.ts", status: "failed", message: "no server\n at x", assertionResults: [] }]);
  expect(countFiles(files)).toEqual({ ...NOTHING, failed: 1 });
  expect(files?.[0]?.failures).toEqual(["/a.test.ts: no server"]);
});

test.each([
  [
    "passes",
    [{ name: "/b", status: "passed", assertionResults: [passed("d"), passed("e")] }],
    3,
    0,
    ["d: Error: never"],
  ],
  ["fails again", [{ name: "/b", status: "failed", assertionResults: [failed("d"), passed("e")] }], 2, 1, []],
  ["is not run", [], 1, 2, []],
])("a file that %s the second time", (_, again, ...[passedThen, failedThen, flakyThen]) => {
  const first = read([
    { name: "/a", status: "passed", assertionResults: [passed("a")] },
    { name: "/b", status: "failed", assertionResults: [failed("d"), failed("e")] },
  ]);
  const count = countFiles(withSecondRun(first ?? [], read(again)));
  expect(count).toMatchObject({ passed: passedThen, failed: failedThen });
  expect(count.flaky.slice(0, 1)).toEqual(flakyThen);
});

test("a file with an error outside its tests has failed", () => {
  const files = read([
    { name: "/work/kube/a.test.ts", status: "passed", assertionResults: [passed("a")] },
    { name: "/work/kube/b.test.ts", status: "passed", assertionResults: [passed("b")] },
  ]);
  const output = `Error: aborted\nThis error originated in "kube/b.test.ts" test file. It doesn't mean`;
  const seen = withUnhandledErrors(files ?? [], output);
  expect(seen.map(({ failed, count }) => [failed, count.failed])).toEqual([
    [false, 0],
    [true, 1],
  ]);
});
