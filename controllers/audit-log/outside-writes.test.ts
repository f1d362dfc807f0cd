// Which changes were made past the CF API, and by whom.
import { describe, expect, test } from "vitest";
import { anApp } from "../../crds/testing/objects.ts";
import type { App } from "../../crds/app/app.ts";
import type { ManagedFieldsEntry } from "../../kube/api/object.ts";
import { stripManagedFields } from "../../kube/api/managed-fields.ts";
import { recordOutsideWriters } from "../../crds/audit-log/outside-writers.ts";
import { planOutsideCreate, planOutsidePatch, toChanges } from "./outside-writes.ts";

const by = (manager: string, time = "2026-01-01T00:00:00Z", subresource?: string): ManagedFieldsEntry => ({
  manager,
  operation: "Update",
  time,
  ...(subresource && { subresource }),
});
const API = by("cupola-api");
const LATER = "2026-01-01T00:00:05Z";
/** As a cache holds it. */
function seen(spec: object, managers: readonly ManagedFieldsEntry[], metadata: object = {}): App {
  const app = anApp(spec, { metadata: { ...metadata, managedFields: [...managers] } });
  return stripManagedFields(recordOutsideWriters(app), new Set());
}

test.each<[string, readonly ManagedFieldsEntry[], string | undefined]>([
  ["kubectl", [by("kubectl-create")], "kubectl-create"],
  [
    "kubectl, seen after a controller's status",
    [by("kubectl"), by("cupola-controller-app", LATER, "status")],
    "kubectl",
  ],
  ["the API", [API], undefined],
  ["the API, with a label by kubectl since", [API, by("kubectl-label", LATER)], undefined],
  ["a controller", [by("cupola-controller-app")], undefined],
  ["nobody who is named", [], undefined],
])("an object made by %s", (_who, managers, manager) => {
  expect(planOutsideCreate(seen({}, managers))?.manager).toBe(manager);
});

describe("a change", () => {
  const old = seen({ state: "Stopped" }, [API, by("kubectl-edit")]);

  test.each<[string, App, object | undefined]>([
    ["by kubectl", seen({ state: "Started" }, [API, by("kubectl-edit", LATER)]), { state: "Started" }],
    ["by a new manager", seen({ state: "Started" }, [API, by("kubectl-edit"), by("flux")]), { state: "Started" }],
    ["by the API", seen({ state: "Started" }, [by("cupola-api", LATER), by("kubectl-edit")]), undefined],
    ["by the API, which takes a field from kubectl", seen({ state: "Started" }, [by("cupola-api", LATER)]), undefined],
    ["that changes nothing", seen({ state: "Stopped" }, [API, by("kubectl-edit", LATER)]), undefined],
    [
      "of kubectl's own note",
      seen({ state: "Stopped" }, [API, by("kubectl-edit", LATER)], {
        annotations: { "kubectl.kubernetes.io/last-applied-configuration": "{}" },
      }),
      undefined,
    ],
    ["of a label", seen({ state: "Stopped" }, [API, by("kubectl-edit", LATER)], { labels: { a: "b" } }), {}],
  ])("%s", (_what, now, changes) => expect(planOutsidePatch(old, now)?.changes).toEqual(changes));

  test("has the newest of several managers", () => {
    const now = seen({ state: "Started" }, [by("kubectl-edit", LATER), by("flux", "2026-01-01T00:00:04Z")]);
    expect(planOutsidePatch(old, now)?.manager).toBe("kubectl-edit");
  });

  test("of restart is a restart", () => {
    const before = seen({ state: "Started" }, [API]);
    const now = seen({ state: "Started", restart: "2" }, [API, by("kubectl-patch", LATER)]);
    expect(planOutsidePatch(before, now)?.changes).toEqual({ state: "Started", restart: "2" });
  });
});

test("changes are a merge patch", () => {
  expect(toChanges({ a: 1, b: { c: 1, d: 2 }, e: [1], f: 1 }, { a: 1, b: { c: 1, d: 3 }, e: [1, 2] })).toEqual({
    b: { d: 3 },
    e: [1, 2],
    f: null,
  });
});
