// The Ready condition of an Adjustment: whether the instances have it, and why not.
import { expect, test } from "vitest";
import { Adjustment } from "../../crds/adjustment/adjustment.ts";
import { findPatch } from "../../crds/adjustment/of-process.ts";
import type { LRP } from "../../crds/lrp/lrp.ts";
import { anLRP, aRunner, makeObject } from "../../crds/testing/objects.ts";
import { planAdjustment } from "./plan.ts";

const backend = aRunner("deployment", {}, { adjustments: "podTemplate" });
const patch = { spec: { nodeSelector: { disk: "ssd" } } };
const anAdjustment = (name = "shop.web", given: unknown = patch): Adjustment =>
  makeObject(Adjustment, name, { spec: { processRef: { name: "shop.web" }, patch: given } });
const running = (adjustment: string | undefined): LRP => anLRP({ spec: { revision: "7", adjustment } });
const one = anAdjustment();
const text = findPatch("shop.web", [one], backend);

test.each([
  ["a process that does not run", undefined, { status: "True", reason: "NotRunning" }],
  ["instances that have it", running(text), { status: "True", reason: "InForce" }],
  ["instances from before", running(undefined), { status: "False", reason: "Pending" }],
])("%s", (_what, lrp, ready) => {
  expect(planAdjustment(one, { backend, all: [one], lrp }).ready).toMatchObject(ready);
});

test("fields that are left out are listed", () => {
  const mixed = anAdjustment("shop.web", { spec: { ...patch.spec, hostPID: true } });
  expect(planAdjustment(mixed, { backend, all: [mixed], lrp: undefined })).toMatchObject({
    status: { refused: [{ path: "spec.hostPID" }] },
    ready: { status: "False", reason: "Refused", message: expect.stringContaining("spec.hostPID: pods of apps") },
  });
});

test("a runner that makes no pods has nothing to adjust", () => {
  const host = aRunner("process", {}, {});
  expect(planAdjustment(one, { backend: host, all: [one], lrp: undefined }).ready).toMatchObject({
    reason: "NotSupported",
  });
});

test("only the first four by name act", () => {
  const all = ["e", "d", "c", "b", "a"].map((name) => anAdjustment(name, { metadata: { labels: { [name]: "x" } } }));
  expect(planAdjustment(anAdjustment("e"), { backend, all, lrp: undefined }).ready).toMatchObject({
    reason: "TooMany",
  });
  expect(JSON.parse(findPatch("shop.web", all, backend) ?? "")).toEqual({
    metadata: { annotations: {}, labels: { a: "x", b: "x", c: "x", d: "x" } },
  });
});

test("equal patches are equal texts, whatever the order of their keys", () => {
  const [forth, back] = [
    { a: "1", b: "2" },
    { b: "2", a: "1" },
  ].map((labels) => findPatch("shop.web", [anAdjustment("x", { metadata: { labels } })], backend));
  expect(forth).toBe(back);
});
