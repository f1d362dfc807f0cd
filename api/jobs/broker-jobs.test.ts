// State of a job that waits on a service broker, by the status of its object.
import { expect, test } from "vitest";
import type { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { brokerJobState } from "./broker-jobs.ts";

const at = (seconds: number): string => new Date(seconds * 1000).toISOString();
const did = (type: string, state: string, more: object = {}): object => ({
  observedGeneration: 2,
  lastOperation: { type, state, description: "words", createdAt: at(100), updatedAt: at(100), ...more },
});

test.each<["create" | "update" | "delete", object | undefined, string]>([
  ["create", {}, "PROCESSING"],
  ["create", did("create", "initial"), "PROCESSING"],
  ["create", { ...did("create", "initial"), operation: { attempts: 1 } }, "POLLING"],
  ["update", { ...did("update", "initial", { generation: 2 }), operation: { attempts: 1 } }, "POLLING"],
  ["create", did("create", "in progress"), "POLLING"],
  ["create", did("create", "succeeded"), "COMPLETE"],
  ["create", did("create", "failed"), "FAILED"],
  ["create", did("update", "in progress"), "COMPLETE"],
  ["create", undefined, "FAILED"],
  ["update", { ...did("create", "succeeded"), observedGeneration: 1 }, "PROCESSING"],
  ["update", did("create", "succeeded"), "COMPLETE"],
  ["update", did("update", "initial", { generation: 2 }), "PROCESSING"],
  ["update", did("update", "failed", { generation: 2 }), "FAILED"],
  ["update", { ...did("update", "failed", { generation: 1 }), observedGeneration: 1 }, "PROCESSING"],
  ["update", { ...did("create", "succeeded"), conditions: [{ type: "Ready", reason: "PlanMissing" }] }, "FAILED"],
  [
    "update",
    { ...did("create", "succeeded"), conditions: [{ type: "Ready", reason: "PaidPlanNotAllowed" }] },
    "FAILED",
  ],
  ["delete", did("create", "succeeded"), "PROCESSING"],
  ["delete", did("delete", "in progress"), "POLLING"],
  ["delete", did("delete", "failed"), "FAILED"],
  ["delete", { ...did("delete", "failed"), wish: "again" }, "PROCESSING"],
  ["delete", { ...did("delete", "failed"), wish: "again", operation: { wish: "before" } }, "PROCESSING"],
  ["delete", { ...did("delete", "failed"), wish: "again", operation: { wish: "again" } }, "FAILED"],
  ["delete", did("delete", "succeeded"), "PROCESSING"],
  ["delete", undefined, "COMPLETE"],
])("%s of %o is %s", (verb, status, state) => {
  const { wish, ...rest } = { wish: undefined, ...status };
  const annotations = wish === undefined ? {} : { "cupola.dev/deletion-wish": wish };
  const metadata = { name: "db", deletionTimestamp: at(100), annotations };
  const object = status && ({ metadata, spec: {}, status: rest } as unknown as ServiceInstance);
  expect(brokerJobState({ verb, generation: 2 }, object).state).toBe(state);
});
