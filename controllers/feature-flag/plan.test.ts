// Which flags grant a permission, and the effective values.
import { expect, test } from "vitest";
import type { FeatureFlag } from "../../crds/feature-flag/feature-flag.ts";
import { findFlagValue, planFlagPermissions } from "./plan.ts";

const flag = (name: string, spec: object, namespace = "cupola-system"): FeatureFlag =>
  ({ metadata: { name, namespace }, spec }) as unknown as FeatureFlag;

test.each<[string, FeatureFlag, boolean | undefined, number]>([
  ["off by default", flag("user-org-creation", {}), false, 0],
  ["on: everybody may make orgs", flag("user-org-creation", { enabled: true }), true, 1],
  ["on in another namespace is nothing", flag("user-org-creation", { enabled: true }, "mine"), undefined, 0],
  ["on by default", flag("app-scaling", {}), true, 0],
  ["turned off", flag("app-scaling", { enabled: false }), false, 0],
  ["unknown", flag("warp-drive", { enabled: true }), undefined, 0],
])("%s", (_what, given, enabled, bindings) => {
  expect([findFlagValue(given), planFlagPermissions(given).length]).toEqual([enabled, bindings]);
});
