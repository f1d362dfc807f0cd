// Which of several objects keeps a GUID.
import { describe, expect, test } from "vitest";
import { App } from "../../crds/app/app.ts";
import { LABELS } from "../../crds/labels.ts";
import { Process } from "../../crds/process/process.ts";
import type { ReconcileContext } from "../../kube/controller/controller.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { NotSynced } from "../../kube/cache/errors.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { anApp } from "../../crds/testing/objects.ts";
import { defineGUIDLabelController } from "./guid-controller.ts";
import { planGUID, resolveGUID } from "./guid.ts";

const guid = "0190a1b2-0000-7000-8000-000000000001";

describe("planGUID", () => {
  const older = anApp(
    {},
    { metadata: { name: "a", uid: "u1", creationTimestamp: "2026-01-01T00:00:00Z", labels: { [LABELS.guid]: guid } } },
  );
  const younger = anApp(
    {},
    { metadata: { name: "b", uid: "u2", creationTimestamp: "2026-01-01T00:00:05Z", labels: { [LABELS.guid]: guid } } },
  );
  const bare = anApp({}, { metadata: { name: "c", uid: "u3" } });

  test("the older of two keeps it, the younger gets its uid", () => {
    expect(planGUID(older, [older, younger])).toBe(guid);
    expect(planGUID(younger, [older, younger])).toBe("u2");
  });
  test("nor has it that of an older object of a kind that presents the same GUIDs", () => {
    const read = {
      byIndex: (ref: ResourceRef) => (ref.kind === App.kind ? [older] : [younger]),
    } as unknown as ReconcileContext["read"];
    expect(resolveGUID(Process, younger as KubeObject as Process, { read }).guid).toBe(guid);
    expect(resolveGUID(Process, younger as KubeObject as Process, { read }, [App])).toEqual({
      guid: "u2",
      labels: { [LABELS.guid]: "u2" },
    });
  });
  test("and does not wait until all objects of that kind are listed", () => {
    const coming = (ref: ResourceRef): KubeObject[] => {
      if (ref.kind === App.kind) throw new NotSynced("apps");
      return [younger];
    };
    expect(
      resolveGUID(
        Process,
        younger as KubeObject as Process,
        { read: { byIndex: coming } as unknown as ReconcileContext["read"] },
        [App],
      ).guid,
    ).toBe(guid);
  });
  test("one without a label has its uid", () => expect(planGUID(bare, [bare])).toBe("u3"));
});

describe("the label of an object that was made without one", () => {
  const read = { byIndex: () => [] } as unknown as ReconcileContext["read"];
  const controller = defineGUIDLabelController("app-guid", App);
  const metadata = { name: "a", uid: "u1", generation: 2 };
  test.each([
    ["waits for the object's first status", {}, {}],
    ["waits for a status about the current spec", { status: { observedGeneration: 1 } }, {}],
    ["is written after that", { status: { observedGeneration: 2 } }, { labels: { [LABELS.guid]: "u1" } }],
    [
      "is left alone once it is there",
      { status: { observedGeneration: 2 }, metadata: { ...metadata, labels: { [LABELS.guid]: guid } } },
      {},
    ],
  ])("%s", (_what, given, result) =>
    expect(controller.reconcile(anApp({}, { metadata, ...given }), { read } as ReconcileContext)).toEqual(result),
  );
  test("has one worker and writes no status", () =>
    expect(controller).toMatchObject({ workers: 1, writesStatus: false }));
});
