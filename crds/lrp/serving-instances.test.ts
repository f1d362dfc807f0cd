// Which instances take requests, by what the spec wants and the runner saw.
import { expect, test } from "vitest";
import type { LRP, LrpInstance } from "./lrp.ts";
import { servingInstances } from "./serving-instances.ts";

const running = (index: number, more: Partial<LrpInstance> = {}): LrpInstance =>
  ({ index, host: `10.0.0.${index}`, state: "Running", ready: true, ...more }) as LrpInstance;
const indexes = (spec: Partial<LRP["spec"]>, instances: LrpInstance[], metadata: object = {}): number[] =>
  servingInstances({ metadata, spec: { instances: 3, ...spec }, status: { instances } } as LRP).map(
    ({ index }) => index,
  );

test.each<[string, number[], LrpInstance[], Partial<LRP["spec"]>?]>([
  ["those that are ready", [0, 2], [running(0), running(1, { ready: false }), running(2)]],
  ["those that run", [0], [running(0), running(1, { state: "Crashed" })]],
  ["those with an address", [0], [running(0), running(1, { host: undefined })]],
  ["not one that the spec removes", [0], [running(0), running(1)], { instances: 1 }],
  ["those of the pool", [2], [running(1), running(2)], { instances: 1, indexes: [{ start: 2, end: 2 }] }],
  ["not one that the spec restarts", [0], [running(0), running(1)], { restartInstances: { "1": "now" } }],
  ["one that was restarted", [1], [running(1, { restart: "now" })], { restartInstances: { "1": "now" } }],
])("%s: %j", (_what, expected, instances, spec) => expect(indexes(spec ?? {}, instances)).toEqual(expected));

test("none of an LRP that is being deleted", () =>
  expect(indexes({}, [running(0)], { deletionTimestamp: "2026-01-01T00:00:00Z" })).toEqual([]));
