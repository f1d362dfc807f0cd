// The doctor's answer: marks, counts and the exit code, from what the checks found.
import { expect, test } from "vitest";
import { CHECK_GROUPS } from "./checks.ts";
import { lookUntilFine, present } from "./doctor-cluster.ts";
import type { Result } from "../output.ts";
import { CouldNotLook, type Finding } from "./finding.ts";
import type { Facts, Readings } from "./facts.ts";
import { judgeFacts, type JudgedGroup } from "./judge.ts";

const [check] = CHECK_GROUPS.flatMap(({ checks }) => checks);
const finding = (severity: Finding["severity"]): Finding => ({
  code: 301,
  severity,
  what: "cupola-api has no ready replica",
  where: ["Deployment cupola-system/cupola-api"],
  next: "kubectl logs",
});

function groupOf(findings: Finding[], unread?: string): JudgedGroup[] {
  return [{ title: "Processes", judged: [{ check: check!, findings, ...(unread !== undefined && { unread }) }] }];
}

test.each([
  ["nothing is wrong", groupOf([]), 0],
  ["a note", groupOf([finding("note")]), 0],
  ["a problem", groupOf([finding("problem")]), 1],
  ["something could not be looked at", groupOf([], "pods are forbidden"), 2],
  ["a problem, and something could not be looked at", [...groupOf([finding("problem")]), ...groupOf([], "no")], 1],
])("the exit code when %s", (_what, groups, code) =>
  expect(present(groups, "https://example.org").exitCode).toBe(code),
);

test("a finding has its objects and its next step on lines of their own", () => {
  expect(present(groupOf([finding("problem")]), "https://example.org").text).toEqual([
    "Processes",
    "✗ 301  cupola-api has no ready replica",
    "       Deployment cupola-system/cupola-api",
    "       Next: kubectl logs",
    "",
    "1 to mend, marked ✗. docs/operate/doctor.md explains each number.",
  ]);
});

/** Facts that are named, and a refusal for all others. */
function readingsOf(facts: Partial<Facts>): Readings {
  return new Proxy({} as Readings, {
    get: (_target, fact: keyof Facts) => () => {
      if (fact in facts) return facts[fact];
      throw new CouldNotLook(`no right to read ${fact}`);
    },
  });
}

test("a check whose facts cannot be read says why, and the others judge", () => {
  const judged = judgeFacts(
    readingsOf({
      isBeforeInstallation: true,
      isProbing: false,
      kubernetes: { gitVersion: "v1.29.4", major: 1, minor: 29 },
      missingRights: [],
      metricsProblem: undefined,
    }),
  ).flatMap((group) => group.judged);
  expect(judged.map(({ check: { code }, findings, unread }) => [code, findings[0]?.what, unread])).toEqual([
    [101, "Kubernetes is v1.29.4; Cupola needs 1.30 or later", undefined],
    [102, undefined, "no right to read clockAheadMs"],
    [103, undefined, undefined],
  ]);
});

test("a platform of another version than this cup is not judged by it", () => {
  const deployment = { metadata: { name: "cupola-api", labels: { "helm.sh/chart": "cupola-9.9.9" } } };
  const judged = judgeFacts(
    readingsOf({
      isBeforeInstallation: false,
      isProbing: false,
      cupVersion: "0.1.0",
      deployments: [deployment] as unknown as Facts["deployments"],
      jobs: [],
    }),
  ).flatMap((group) => group.judged);
  const unread = Object.fromEntries(judged.map(({ check: { code }, unread: why }) => [code, why]));
  expect([unread[201], unread[204]]).toEqual([
    expect.stringContaining("the chart is cupola-9.9.9: use the cup of that version"),
    expect.stringContaining("the chart is cupola-9.9.9: use the cup of that version"),
  ]);
});

test("codes are ascending within the page, and each is one check's", () => {
  const codes = CHECK_GROUPS.flatMap(({ checks }) => checks.map(({ code }) => code));
  expect(new Set(codes).size).toBe(codes.length);
});

test.each([
  ["no waiting", {}, 1, [true]],
  ["everything is fine at the first look", { wait: 60 }, 0, [false, true]],
  ["the time is over", { wait: 0 }, 1, [false, true]],
])("a probe starts its pods once: %s", async (_what, options, exitCode, looks) => {
  const made: boolean[] = [];
  const look = (probe: boolean): Promise<Result> => {
    made.push(probe);
    return Promise.resolve({ text: [], json: {}, exitCode });
  };
  await lookUntilFine({ step: () => undefined }, { ...options, probe: true }, look);
  expect(made).toEqual(looks);
});
