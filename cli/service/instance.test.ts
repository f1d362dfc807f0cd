// The text of an operation, and the next step after it.
import { expect, test } from "vitest";
import { nextStep, tellOperation, type Instance, type LastOperation } from "./instance.ts";

const last = (type: LastOperation["type"], state: LastOperation["state"], description = ""): LastOperation => ({
  type,
  state,
  description,
  updated_at: "2026-11-27T12:00:00Z",
});
const instance = (more: object): Instance =>
  ({ name: "shop db", last_operation: null, ...more }) as unknown as Instance;

test.each([
  [last("create", "succeeded", "Operation succeeded"), "create succeeded"],
  [last("update", "failed", "no room"), "update failed: no room"],
  [last("delete", "in progress", "half"), "delete in progress: half"],
  [null, ""],
])("%j", (operation, text) => expect(tellOperation(operation)).toBe(text));

test.each<[object, string | undefined]>([
  [{ last_operation: last("create", "failed") }, "cup delete-service 'shop db', then cup create-service again"],
  [{ last_operation: last("update", "failed") }, "cup service 'shop db', then the update again"],
  [{ last_operation: last("delete", "failed") }, "cup delete-service 'shop db' tries again"],
  [{ last_operation: last("create", "in progress") }, "cup service 'shop db' shows when it has ended"],
  [{ last_operation: last("create", "succeeded"), upgrade_available: true }, "cf upgrade-service 'shop db'"],
  [{ last_operation: last("create", "succeeded") }, undefined],
])("after %j", (more, next) => expect(nextStep(instance(more))).toBe(next));
