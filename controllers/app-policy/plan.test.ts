// The condition of an AppPolicy, and its end.
import { describe, expect, test } from "vitest";
import type { App } from "../../crds/app/app.ts";
import { AppPolicy } from "../../crds/app-policy/app-policy.ts";
import { appPolicyName } from "../../crds/app-policy/rules.ts";
import { makeObject } from "../../crds/testing/objects.ts";
import { isOver, knowsApp, planAppPolicy, planRequeue, planStatus, type AppPolicyInput } from "./plan.ts";

const spec = {
  source: { namespace: "front", app: "web" },
  destination: { app: "api" },
  protocol: "tcp" as const,
  ports: { start: 80, end: 80 },
};
const policyOf = (name: string, more: object = {}, status: object = {}): AppPolicy =>
  makeObject(AppPolicy, name, {
    metadata: { namespace: "back", creationTimestamp: "2026-01-01T00:00:00Z", ...more },
    spec,
    status,
  } as never);
const appOf = (uid: string): App => ({ metadata: { name: uid, uid } }) as App;
const input = (given: Partial<AppPolicyInput> = {}): AppPolicyInput => ({
  policy: policyOf("p"),
  source: appOf("web-1"),
  destination: appOf("api-1"),
  others: [],
  isolation: true,
  ...given,
});

test.each([
  [{}, "True", "Open"],
  [{ isolation: undefined }, "True", "Open"],
  [{ isolation: false }, "True", "NotEnforced"],
  [{ source: undefined }, "False", "AppMissing"],
  [{ destination: undefined, isolation: false }, "False", "AppMissing"],
])("with %o it is %s, %s", (given, status, reason) => {
  expect(planAppPolicy(input(given))).toMatchObject({ status, reason });
});

test("the policies of an app beyond its number open nothing, and say so; older ones stay", () => {
  const others = Array.from({ length: 500 }, (_, at) =>
    policyOf(`older-${at}`, { creationTimestamp: "2025-01-01T00:00:00Z" }),
  );
  expect(planAppPolicy(input({ others }))).toMatchObject({ status: "False", reason: "TooManyPolicies" });
  expect(planAppPolicy(input({ others: others.slice(1) }))).toMatchObject({ reason: "Open" });
  const younger = others.map((one) => ({
    ...one,
    metadata: { ...one.metadata, creationTimestamp: "2027-01-01T00:00:00Z" },
  }));
  expect(planAppPolicy(input({ others: younger }))).toMatchObject({ reason: "Open" });
});

test("one too many looks again, as nothing tells it when another has been deleted", () => {
  const older = Array.from({ length: 500 }, (_, at) =>
    policyOf(`older-${at}`, { creationTimestamp: "2025-01-01T00:00:00Z" }),
  );
  const requeueOf = (others: AppPolicy[]): object => planRequeue(planAppPolicy(input({ others })));
  expect([requeueOf(older), requeueOf(older.slice(1))]).toEqual([{ requeueAfterMs: 600_000 }, {}]);
});

test("policies that cannot be too many are not compared", () => {
  const unread = new Proxy(policyOf("other"), {
    get: () => {
      throw new Error("it was read");
    },
  });
  expect(planAppPolicy(input({ others: Array.from({ length: 499 }, () => unread) }))).toMatchObject({ reason: "Open" });
});

test("an app tells a policy something new when it comes, goes or is another of its name", () => {
  const known = policyOf("p", {}, { sourceUID: "web-1", destinationUID: "api-1" });
  const web = { namespace: "front", name: "web" };
  const api = { namespace: "back", name: "api" };
  expect([knowsApp(known, web, "web-1"), knowsApp(known, api, "api-1")]).toEqual([true, true]);
  expect([knowsApp(known, web, "web-2"), knowsApp(known, api, "web-1")]).toEqual([false, false]);
  expect([knowsApp(known, web, undefined), knowsApp(policyOf("p"), web, undefined)]).toEqual([false, false]);
  expect(knowsApp(policyOf("p"), web, "web-1")).toBe(false);
  const own = { ...known, spec: { ...spec, source: { namespace: "back", app: "api" } } };
  expect([knowsApp(own, api, "api-1"), knowsApp(own, api, "web-1")]).toEqual([false, false]);
});

describe("a policy of the CF API", () => {
  const known = { sourceUID: "web-1", destinationUID: "api-1" };
  const made = policyOf(appPolicyName(spec), {}, known);

  test("is over once an app that it was made for is gone, also when another has its name", () => {
    expect(isOver(input({ policy: made }))).toBe(false);
    expect(isOver(input({ policy: made, source: undefined }))).toBe(true);
    expect(isOver(input({ policy: made, destination: appOf("api-2") }))).toBe(true);
  });

  test("stays while its apps have not been there yet, and knows them from then on", () => {
    const young = policyOf(appPolicyName(spec));
    expect(isOver(input({ policy: young, source: undefined }))).toBe(false);
    expect(planStatus(input({ policy: young, source: undefined }))).toEqual({});
    expect(planStatus(input({ policy: young }))).toEqual(known);
    expect(planStatus(input({ policy: made, source: appOf("web-2") }))).toEqual({});
  });

  test("one with a name of its own goes by names", () => {
    const own = policyOf("by-kubectl", {}, known);
    expect(isOver(input({ policy: own, source: undefined }))).toBe(false);
    expect(planStatus(input({ policy: own, source: appOf("web-2") }))).toEqual({ ...known, sourceUID: "web-2" });
  });
});
