// Status patches and merge patches contain exactly the differences.
import { describe, expect, it } from "vitest";
import { mergeDiff, mergeDiffNamed } from "../api/merge-diff.ts";
import type { KubeObject } from "../api/object.ts";
import { planStatus } from "./plan-status.ts";

const now = new Date("2026-01-02T03:04:05.678Z");
const ready = { type: "Ready", status: "True", reason: "Reconciled", message: "" } as const;
const old = { ...ready, lastTransitionTime: "2025-01-01T00:00:00Z", observedGeneration: 1 };
const object = (status: unknown, generation = 1): KubeObject => ({
  apiVersion: "v1",
  kind: "Thing",
  metadata: { name: "t", generation, resourceVersion: "9" },
  status,
});

describe("planStatus", () => {
  it("writes everything the first time, with resourceVersion when conditions change", () => {
    expect(
      planStatus({
        object: object(undefined),
        status: { a: 1 },
        conditions: [ready],
        writesObservedGeneration: true,
        now,
      }),
    ).toEqual({
      metadata: { resourceVersion: "9" },
      status: {
        a: 1,
        observedGeneration: 1,
        conditions: [{ ...ready, lastTransitionTime: "2026-01-02T03:04:05Z", observedGeneration: 1 }],
      },
    });
  });

  it("is undefined without a difference, whatever others have added", () => {
    const status = { a: { b: 1 }, observedGeneration: 1, foreign: 2, conditions: [{ type: "Other" }, old] };
    expect(
      planStatus({
        object: object(status),
        status: { a: { b: 1, c: undefined } },
        conditions: [ready],
        writesObservedGeneration: true,
        now,
      }),
    ).toBeUndefined();
  });

  it("keeps the transition time while the status is unchanged, and the order of other conditions", () => {
    const status = { observedGeneration: 1, conditions: [{ type: "Other" }, old] };
    expect(
      planStatus({
        object: object(status, 2),
        conditions: [{ ...ready, message: "new" }],
        writesObservedGeneration: true,
        now,
      }),
    ).toEqual({
      metadata: { resourceVersion: "9" },
      status: {
        observedGeneration: 2,
        conditions: [{ type: "Other" }, { ...old, message: "new", observedGeneration: 2 }],
      },
    });
    expect(
      planStatus({
        object: object(status),
        conditions: [{ ...ready, status: "False" }],
        writesObservedGeneration: true,
        now,
      }),
    ).toMatchObject({ status: { conditions: [{}, { lastTransitionTime: "2026-01-02T03:04:05Z" }] } });
  });

  it("writes fields without resourceVersion when conditions are unchanged, and removes undefined ones", () => {
    const status = { a: 1, gone: 1, observedGeneration: 1, conditions: [old] };
    expect(
      planStatus({
        object: object(status),
        status: { a: 2, gone: undefined, never: undefined },
        conditions: [ready],
        writesObservedGeneration: true,
        now,
      }),
    ).toEqual({ status: { a: 2, gone: null } });
  });
});

describe("mergeDiff", () => {
  it.each([
    [{ a: 1 }, { a: 1 }, undefined],
    [{ a: 1, b: 2 }, { a: 1 }, { b: null }],
    [{ a: { x: 1, y: 2 } }, { a: { x: 1, y: 3 } }, { a: { y: 3 } }],
    [{ a: [1, 2] }, { a: [1] }, { a: [1] }],
    [undefined, { a: 1, b: undefined }, { a: 1 }],
    [{ a: 1 }, undefined, null],
    [undefined, undefined, undefined],
    [{ a: [{ x: 1 }] }, { a: [{ x: 1, y: undefined }] }, undefined],
  ])("%j to %j is %j", (live, wanted, patch) => {
    expect(mergeDiff(live, wanted)).toEqual(patch);
  });

  it("leaves unnamed fields alone", () => {
    expect(mergeDiffNamed({ a: 1, b: 2 }, { a: 3, c: undefined })).toEqual({ a: 3 });
    expect(mergeDiffNamed({ a: 1 }, undefined)).toBeUndefined();
  });
});
