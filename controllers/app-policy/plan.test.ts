// The condition of an AppPolicy.
import { expect, test } from "vitest";
import { AppPolicy } from "../../crds/app-policy/app-policy.ts";
import { makeObject } from "../../crds/testing/objects.ts";
import { planAppPolicy } from "./plan.ts";

const policy = makeObject(AppPolicy, "p", {
  metadata: { namespace: "back" },
  spec: {
    source: { namespace: "front", app: "web" },
    destination: { app: "api" },
    ports: { start: 80, end: 80 },
  },
});

test.each([
  [{}, "True", "Open"],
  [{ isolation: undefined }, "True", "Open"],
  [{ isolation: false }, "True", "NotEnforced"],
  [{ hasSource: false }, "False", "AppMissing"],
  [{ hasDestination: false, isolation: false }, "False", "AppMissing"],
])("with %o it is %s, %s", (given, status, reason) => {
  const input = { policy, hasSource: true, hasDestination: true, isolation: true, ...given };
  expect(planAppPolicy(input)).toMatchObject({ status, reason });
});
