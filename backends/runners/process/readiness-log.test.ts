// The lines of a readiness check.
import { expect, test } from "vitest";
import { readinessLog, type CheckedInstance } from "./readiness-log.ts";

const passed = "OUT Container passed the readiness health check. Container marked ready and added to route pool.";
const failed =
  "ERR Container failed the readiness health check. Container marked not ready and removed from route pool. refused";

interface Case {
  type: "http" | "process";
  state: CheckedInstance["record"]["state"];
  results: boolean[];
  lines: string[];
}

test.each<[string, Case]>([
  ["passes at once", { type: "http", state: "Starting", results: [true], lines: [passed] }],
  [
    "passes late",
    {
      type: "http",
      state: "Starting",
      results: [false, true],
      lines: ["ERR Container is not ready yet. refused", passed],
    },
  ],
  [
    "fails and passes again",
    { type: "http", state: "Starting", results: [true, false, true], lines: [passed, failed, passed] },
  ],
  ["goes on as before a restart of the platform", { type: "http", state: "Running", results: [true], lines: [] }],
  [
    "fails after a restart of the platform",
    { type: "http", state: "Running", results: [true, false], lines: [failed] },
  ],
  ["is none of its own", { type: "process", state: "Starting", results: [true], lines: [] }],
])("a check that %s", (_what, { type, state, results, lines: expected }) => {
  const lines: string[] = [];
  const report = readinessLog({
    lrp: { spec: { readinessHealthCheck: { type } } },
    record: { state },
    log: (_source, message, more) => lines.push(`${more?.stream ?? "OUT"} ${message}`),
  });
  for (const ready of results) report(ready, ready ? undefined : "refused");
  expect(lines).toEqual(expected);
});
