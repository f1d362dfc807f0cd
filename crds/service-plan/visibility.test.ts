// Where a service plan may be used.
import { expect, test } from "vitest";
import { isUsableIn } from "./visibility.ts";
import type { ServicePlan } from "./service-plan.ts";

type Visibility = ServicePlan["spec"]["visibility"];
const SYSTEM = "cupola-system";

test.each<[string, string, Visibility, boolean]>([
  ["nothing said", SYSTEM, undefined, false],
  ["public", SYSTEM, { type: "public" }, true],
  ["admin", SYSTEM, { type: "admin" }, false],
  ["its org", SYSTEM, { type: "organization", orgs: ["acme"] }, true],
  ["another org", SYSTEM, { type: "organization", orgs: ["other"] }, false],
  ["space, which a platform's broker has not", SYSTEM, { type: "space" }, false],
  ["a space's own broker", "acme-dev", undefined, true],
  ["another space's broker", "acme-prod", { type: "public" }, false],
])("%s", (_, namespace, visibility, usable) => {
  const plan = { metadata: { name: "p", namespace }, spec: { visibility } } as ServicePlan;
  expect(isUsableIn(plan, { namespace: "acme-dev", org: "acme" })).toBe(usable);
});
