// The promise of labels: what stands here may grow, and never shrinks or changes.
import { describe, expect, test } from "vitest";
import { INTERNAL_LABELS, isReservedKey, OBSERVE_LABELS, STABLE_LABELS } from "./labels.ts";

describe("labels", () => {
  test("no stable key is gone or renamed", () => {
    expect(STABLE_LABELS).toMatchObject({
      guid: "cupola.dev/guid",
      app: "cupola.dev/app-guid",
      process: "cupola.dev/process-guid",
      processType: "cupola.dev/process-type",
      space: "cupola.dev/space-guid",
      org: "cupola.dev/org-guid",
      orgName: "cupola.dev/org",
      spaceName: "cupola.dev/space",
      instanceIndex: "cupola.dev/instance-index",
      revision: "cupola.dev/revision",
      sourceType: "cupola.dev/source-type",
    });
  });

  test("every key is listed once", () => {
    const keys = [STABLE_LABELS, OBSERVE_LABELS, INTERNAL_LABELS].flatMap((tier) => Object.values(tier));
    expect(new Set(keys).size).toBe(keys.length);
  });

  test.each([
    ["cupola.dev/guid", true],
    ["workloads.cupola.dev/x", true],
    ["app.kubernetes.io/name", true],
    ["k8s.io/x", true],
    ["env", false],
    ["example.com/cupola.dev", false],
    ["notcupola.dev/x", false],
  ])("%s is reserved: %s", (key, reserved) => {
    expect(isReservedKey(key)).toBe(reserved);
  });
});
