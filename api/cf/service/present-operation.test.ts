// The last operation that clients see.
import { expect, test } from "vitest";
import type { LastOperation } from "../../../crds/service-instance/managed-fields.ts";
import { presentOperation } from "./present-operation.ts";

const [early, late] = ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"];
const operation = (type: LastOperation["type"], state: LastOperation["state"]): LastOperation => ({
  type,
  state,
  description: "words",
  createdAt: early,
  updatedAt: early,
});

test.each([
  ["one that nobody has seen", {}, undefined, { type: "create", state: "in progress", description: "" }],
  ["one that was made", {}, operation("create", "succeeded"), { type: "create", state: "succeeded" }],
  [
    "one whose creation failed, right after its deletion",
    { deletionTimestamp: late },
    operation("create", "failed"),
    { type: "delete", state: "in progress", description: "", created_at: late },
  ],
  [
    "one whose deletion failed",
    { deletionTimestamp: late },
    operation("delete", "failed"),
    { type: "delete", state: "failed", description: "words" },
  ],
])("%s", (_what, times, lastOperation, shown) => {
  const metadata = { name: "db", creationTimestamp: early, ...times };
  expect(presentOperation({ metadata, status: { lastOperation } })).toMatchObject(shown);
});
