// How often an app that starts is checked.
import { expect, test } from "vitest";
import { LRP } from "../../crds/lrp/lrp.ts";
import { lrpSpec } from "../../crds/testing/objects.ts";
import { planProbes } from "./probes.ts";

test.each([
  ["every second, until the time to start is over", {}, 1, { periodSeconds: 1, failureThreshold: 60 }],
  ["every 2 s in older renderings", {}, 2, { periodSeconds: 2, failureThreshold: 30 }],
  ["as long as the app asks for", { timeoutSeconds: 90 }, 1, { periodSeconds: 1, failureThreshold: 90 }],
  ["less often where a check may take longer", { invocationTimeoutSeconds: 5 }, 1, { periodSeconds: 2 }],
])("%s", (_what, change, startPeriodSeconds, expected) => {
  const healthCheck = { type: "port" as const, ...change };
  expect(planProbes(LRP.spec.parse(lrpSpec({ healthCheck })), { startPeriodSeconds }).startupProbe).toMatchObject(
    expected,
  );
});
