// When a stage of a Rollout begins, passes and halts.
import { expect, test } from "vitest";
import type { StagedRollout } from "../../crds/isolation-segment/isolation-segment.ts";
import type { Rollout } from "../../crds/rollout/rollout.ts";
import { aRollout } from "../../crds/testing/objects.ts";
import type { StageStep } from "../shared/rollout-stages.ts";
import { chooseStages, planStageProgress, type StageProgress } from "./stages.ts";

const NOW = new Date("2026-01-01T01:00:00Z");
const ago = (seconds: number): string => new Date(NOW.getTime() - seconds * 1000).toISOString();
const RULES = { soakSeconds: 60, deadlineSeconds: 600, maxFailures: 0, approval: "none" as const };
const assign = (cluster: string, state: "Active" | "Draining" = "Active") => ({
  cluster,
  indexes: [{ start: 0, end: 0 }],
  state,
  reason: "Chosen",
});
const choose = (names: string[], stages?: StagedRollout["stages"]): string[][] | undefined =>
  chooseStages(
    names.map((name) => assign(name)),
    stages && { ...RULES, stages },
  ).stages;

test.each<[string, string[], StagedRollout["stages"] | undefined, string[][]]>([
  ["one stage without rules", ["b", "a"], undefined, [["a", "b"]]],
  ["by number, percent and the rest", ["a", "b", "c", "d"], [{ clusters: 1 }, { percent: 50 }], [["a"], ["b"], ["c", "d"]]],
  ["no empty stage", ["a", "b"], [{ clusters: 1 }, { percent: 50 }, { percent: 100 }], [["a"], ["b"]]],
  ["more than there are", ["a"], [{ clusters: 5 }], [["a"]]],
])("the clusters of each stage: %s", (_what, names, stages, expected) =>
  expect(choose(names, stages)).toEqual(expected)); // prettier-ignore

test("a cluster that the process leaves is in no stage", () =>
  expect(chooseStages([assign("a"), assign("b", "Draining")], undefined).stages).toEqual([["a"]]));

interface Given {
  spec?: object;
  status?: Partial<NonNullable<Rollout["status"]>>;
  /** Instances of the stage that take requests, and those that crashed; it has two. */
  ready?: number;
  /** Those that take requests of the other stage; as `ready` when left out. */
  readyElsewhere?: number;
  failed?: number;
  silent?: string[];
  limit?: number;
  refused?: string;
  isMoving?: boolean;
  /** Clusters of the first stage. */
  clusters?: string[];
}

const DEFAULTS = { spec: {}, status: {}, ready: 0, failed: 0, silent: [], limit: 2, isMoving: true };

function progress(given: Given): StageProgress {
  const { spec, status, ready, readyElsewhere, failed, silent, limit, refused, isMoving, clusters } = {
    refused: undefined,
    readyElsewhere: undefined,
    clusters: ["east"],
    ...DEFAULTS,
    ...given,
  };
  const stages = [["east"], ["west"]];
  const rollout = aRollout(spec, { status: { stages, stageRules: RULES, stage: 1, stageTime: ago(100), ...status } });
  const goal = { total: 2, limit, maxInFlight: 1, maxFailures: rollout.status?.stageRules?.maxFailures ?? 0 };
  const toStage = (names: string[], taking: number): StageStep => {
    const own = names.length === 0 ? { ...goal, total: 0, limit: 0 } : goal;
    const routable = new Set(Array.from({ length: taking }, (_, index) => index));
    const target = { instances: 2, indexes: [0, 1], routable, failed };
    const step = { goal: own, target, others: [], next: 2, rest: [] };
    return { clusters: names, silent, pool: [0, 1], isUnderWay: true, step };
  };
  const steps = [toStage(clusters, ready), toStage(["west"], readyElsewhere ?? ready)];
  return planStageProgress({ rollout, steps, refused, isMoving, now: NOW });
}

test("a stage that is ready soaks first, then the next one begins", () => {
  expect(progress({ ready: 2 })).toMatchObject({
    fields: { stage: 1, stageReadyTime: NOW.toISOString() },
    requeueAfterMs: 60_000,
  });
  expect(progress({ ready: 2, status: { stageReadyTime: ago(59) } })).toMatchObject({ requeueAfterMs: 1000 });
  const { fields } = progress({ ready: 2, status: { stageReadyTime: ago(60) } });
  expect(fields).toMatchObject({ stage: 2, stageTime: NOW.toISOString() });
  expect(fields.stageReadyTime).toBeUndefined();
});

test("an instance that fails meanwhile starts the soak anew", () =>
  expect(progress({ ready: 1, status: { stageReadyTime: ago(59) } }).fields.stageReadyTime).toBeUndefined());

test("after the last stage the rollout is over", () =>
  expect(progress({ ready: 2, status: { stage: 2, stageReadyTime: ago(60) } }).isPassed).toBe(true));

test("a stage that is no longer ready after its turn holds the next gate, and fails by name", () => {
  const given = { ready: 1, readyElsewhere: 2 };
  const { fields } = progress({ ...given, status: { stage: 2, stageReadyTime: ago(60) } });
  expect([fields.stage, fields.stageReadyTime]).toEqual([2, undefined]);
  expect(fields.stageLostTime).toBe(NOW.toISOString());
  const late = progress({ ...given, status: { stage: 2, stageTime: ago(800), stageLostTime: ago(600) } }).fields;
  expect(late).toMatchObject({ stage: 2, stagePauses: 1 });
  expect(late.stageProblem).toBe("stage 1 of 2 (east): 1 of 2 instances take requests after 600 s");
});

test("a moment without an instance after the deadline, in a long soak, fails no stage", () => {
  const stageRules = { ...RULES, soakSeconds: 3600 };
  const status = { stageRules, stageTime: ago(1200), stageReadyTime: ago(900) };
  const lost = progress({ ready: 1, status });
  expect(lost.fields).toMatchObject({ stage: 1, stageLostTime: NOW.toISOString() });
  expect([lost.fields.stagePauses, lost.requeueAfterMs]).toEqual([undefined, 600_000]);
  const back = progress({ ready: 2, status: { ...status, stageReadyTime: undefined, stageLostTime: ago(5) } }).fields;
  expect([back.stageReadyTime, back.stageLostTime]).toEqual([NOW.toISOString(), undefined]);
});

test("a stage that is ready and lost again and again has the soak and twice the time", () => {
  const status = (seconds: number) => ({ stageTime: ago(seconds), stageReadyTime: ago(1) });
  expect(progress({ ready: 1, status: status(1259) }).requeueAfterMs).toBe(1000);
  expect(progress({ ready: 1, status: status(1260) }).fields.stagePauses).toBe(1);
});

test("a stage whose clusters have all left asks for no approval", () => {
  const stageRules = { ...RULES, approval: "stage" as const };
  const { fields } = progress({ clusters: [], status: { stageRules } });
  expect(fields).toMatchObject({ stage: 2, stageTime: NOW.toISOString() });
  expect(fields.stagePauses).toBeUndefined();
});

test("a cluster that a stage waits for is named", () =>
  expect(progress({ ready: 2, silent: ["east"] }).silent).toEqual(["east"]));

test("a stage that is not ready in time has failed, and says so", () => {
  expect(progress({ ready: 1, status: { stageTime: ago(599) } })).toMatchObject({ requeueAfterMs: 1000 });
  const { fields } = progress({ ready: 1, status: { stageTime: ago(600) } });
  expect(fields).toMatchObject({ stage: 1, stagePauses: 1 });
  expect(fields.stageProblem).toBe("stage 1 of 2 (east): 1 of 2 instances take requests after 600 s");
});

test("as many crashes as the segment allows stop nothing", () => {
  const rules = { ...RULES, maxFailures: 1, soakSeconds: 0 };
  expect(progress({ ready: 1, failed: 1, status: { stageRules: rules } }).fields.stage).toBe(2);
  expect(progress({ ready: 0, failed: 2, status: { stageRules: rules } }).fields.stage).toBe(1);
});

test("where the segment has no stages a crash fails no stage, as in CF", () =>
  expect(progress({ ready: 1, failed: 1, status: { stageRules: undefined, stageTime: ago(9999) } })).toEqual({
    fields: { stages: [["east"], ["west"]], stage: 1, stageTime: ago(9999) },
    isPassed: false,
    silent: [],
  }));

test("a cluster that refuses the version fails its stage at once, with or without rules", () => {
  for (const stageRules of [RULES, undefined])
    expect(
      progress({ refused: "cluster east cannot start it: no volumes", status: { stageRules } }).fields,
    ).toMatchObject({ stagePauses: 1, stageProblem: "stage 1 of 2 (east): cluster east cannot start it: no volumes" });
});

test("a stage that has failed stays so until someone continues, and then has its whole time again", () => {
  const status = { stagePauses: 1, stageProblem: "p", stageTime: undefined };
  expect(progress({ status, refused: "again" }).fields).toMatchObject({ stagePauses: 1, stageProblem: "p" });
  const { fields } = progress({ status, spec: { continuedStages: 1 } });
  expect(fields).toMatchObject({ stage: 1, stageTime: NOW.toISOString(), stagePauses: 1 });
  expect(fields.stageProblem).toBeUndefined();
});

test("stages that were approved in advance halt all the same when they fail", () =>
  expect(progress({ refused: "no volumes", spec: { continuedStages: 9 } }).fields.stagePauses).toBe(10));

test("with approvals it pauses after a stage, and the next one has its whole time", () => {
  const stageRules = { ...RULES, approval: "stage" as const };
  const { fields } = progress({ ready: 2, status: { stageRules, stageReadyTime: ago(60) } });
  expect(fields).toMatchObject({ stage: 2, stagePauses: 1 });
  expect(fields.stageTime).toBeUndefined();
});

test("a cluster that does not answer is skipped after the deadline, also where the segment has no stages", () => {
  for (const stageRules of [{ ...RULES, soakSeconds: 0 }, undefined]) {
    const status = (seconds: number): object => ({ stageRules, stageTime: ago(seconds) });
    expect(progress({ ready: 2, silent: ["east"], status: status(590) })).toMatchObject({ requeueAfterMs: 10_000 });
    expect(progress({ ready: 2, silent: ["east"], status: status(600) }).fields.stage).toBe(2);
  }
});

test("a part of a stage, as a canary has it, opens no gate, and a paused rollout has no times", () => {
  expect(progress({ ready: 2, limit: 1, status: { stageReadyTime: ago(99) } }).fields.stage).toBe(1);
  expect(progress({ ready: 2, isMoving: false }).fields.stageTime).toBeUndefined();
});
