// The stages that an operator says for a segment.
import { expect, test } from "vitest";
import { toStagedRollout } from "./segments.ts";

const before = {
  stages: [{ clusters: 1 }],
  soakSeconds: 0,
  deadlineSeconds: 600,
  maxFailures: 0,
  approval: "none" as const,
};

test("stages are numbers and percentages of clusters, with their rules", () => {
  expect(toStagedRollout({ clusters: "all", stages: "1,50%,100%", soak: 60, approval: "stage" }, undefined)).toEqual({
    rollout: { stages: [{ clusters: 1 }, { percent: 50 }, { percent: 100 }], soakSeconds: 60, approval: "stage" },
  });
});

test("a rule alone changes the stages that there are, none removes them, and nothing changes nothing", () => {
  expect(toStagedRollout({ clusters: "all", deadline: 300 }, before)).toEqual({ rollout: { deadlineSeconds: 300 } });
  expect(toStagedRollout({ clusters: "all", stages: "none" }, before)).toEqual({ rollout: null });
  expect(toStagedRollout({ clusters: "all" }, before)).toEqual({});
});

test.each([
  ["a rule without stages", { soak: 5 }, "has no stages"],
  ["a stage of no cluster", { stages: "0,100%" }, "no number of clusters"],
  ["more than all", { stages: "101%" }, "no number of clusters"],
  ["another approval", { stages: "1", approval: "me" }, "none of none, stage"],
])("%s is refused", (_what, options, message) =>
  expect(() => toStagedRollout({ clusters: "all", ...options }, undefined)).toThrow(message),
);
