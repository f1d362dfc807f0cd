// Permissions by review: how long an answer is cached, and that an RBAC change in our cache takes effect before it expires.
import { afterEach, expect, test, vi } from "vitest";
import { App } from "../../crds/app/app.ts";
import { Space } from "../../crds/space/space.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { NotSynced } from "../../kube/cache/errors.ts";
import type { AccessAttributes, RbacAuthorizer } from "../cache/rbac-authorizer.ts";
import { declaredPermissions } from "./declared-permissions.ts";
import { createCallerPermissions } from "./create-caller-permissions.ts";
import type { ReviewTargets } from "./review-targets.ts";
import type { Caller } from "../identity/caller.ts";
import { UNCONFIRMED_DENIAL_TTL_MS, createAccessReviewer, REVIEW_TTL_MS } from "./access-reviewer.ts";

afterEach(() => void vi.restoreAllMocks());

const caller = { name: "ann", groups: [] } as unknown as Caller;
const declared = declaredPermissions({ method: "GET", path: "/v3/apps", permission: "authenticated" });
const space: AccessAttributes = { verb: "get", on: Space, namespace: "acme", name: "dev" };

interface Question {
  verb: string;
  resource: string;
  subresource?: string;
  namespace?: string;
  name?: string;
}

/** A cluster with the verdict of our cached RBAC (`rbac`) and the API server's answer to reviews (`says`). The test sets both. */
function cluster(trustsRbac = false) {
  const state = {
    rbac: false as boolean | "unseen",
    says: false as boolean | ((asked: Question) => boolean),
    now: 1e12,
    asked: 0,
    held: undefined as Promise<void> | undefined,
  };
  const questions: string[] = [];
  const client = {
    review: async (
      _ref: unknown,
      { spec: { resourceAttributes: one } }: { spec: { resourceAttributes: Question } },
    ) => {
      state.asked++;
      questions.push(
        `${one.verb} ${one.resource}${one.subresource ? `/${one.subresource}` : ""} ${one.namespace ?? "*"}/${one.name ?? "*"}`,
      );
      const allowed = typeof state.says === "function" ? state.says(one) : state.says;
      await state.held;
      return { status: { allowed } };
    },
  } as unknown as KubeClient;
  const allows = (): boolean => {
    if (state.rbac === "unseen") throw new NotSynced("rolebindings");
    return state.rbac;
  };
  const reviews = createAccessReviewer(client, () => new Date(state.now));
  const deps = {
    authorizer: { allows } as unknown as RbacAuthorizer,
    review: { reviewer: reviews, trustsRbac, kinds: [App] },
  };
  /** The permissions of a new request. */
  const request = () =>
    createCallerPermissions(deps, { caller, signal: AbortSignal.timeout(5_000), declared, writes: false });
  return { state, questions, request, decide: (asked = space) => request().decide(asked) };
}

test("a refusal from before a binding does not hide objects that the binding allows", async () => {
  const { state, decide } = cluster();
  expect(await decide()).toBe(false);
  [state.rbac, state.says] = [true, true];
  expect(await decide()).toBe(true);
});

test("nor does it within one request that waits for the binding", async () => {
  const { state, request } = cluster();
  const rights = request();
  expect(await rights.decide(space)).toBe(false);
  [state.rbac, state.says] = [true, true];
  expect(await rights.decide(space)).toBe(true);
});

test("a yes from before a binding was taken away counts no more", async () => {
  const { state, decide } = cluster();
  [state.rbac, state.says] = [true, true];
  expect(await decide()).toBe(true);
  [state.rbac, state.says] = [false, false];
  expect(await decide()).toBe(false);
});

test("an API server that learns of the binding later than this replica is asked again soon", async () => {
  const { state, decide } = cluster();
  state.rbac = true;
  expect(await decide()).toBe(false);
  state.says = true;
  state.now += UNCONFIRMED_DENIAL_TTL_MS - 1;
  expect(await decide()).toBe(false);
  state.now += 2;
  expect(await decide()).toBe(true);
});

test("a question that was under way before the binding is not waited for, and its answer does not count", async () => {
  const { state, decide } = cluster();
  const hold = Promise.withResolvers<void>();
  state.held = hold.promise;
  const before = decide();
  [state.rbac, state.says, state.held] = [true, true, undefined];
  expect(await decide()).toBe(true);
  hold.resolve();
  expect(await before).toBe(true);
  expect(await decide()).toBe(true);
});

test("a question asked while the binding arrives gets the new verdict", async () => {
  const { state, decide } = cluster();
  const hold = Promise.withResolvers<void>();
  state.held = hold.promise;
  const asked = decide();
  [state.rbac, state.says, state.held] = [true, true, undefined];
  hold.resolve();
  expect(await asked).toBe(true);
});

test.each([
  ["a no that RBAC shares", false, false, false],
  ["a yes that RBAC shares", true, true, false],
  ["a yes of another authorizer", false, true, false],
  ["a yes of another authorizer, where RBAC's own is trusted", false, true, true],
  ["any answer while RBAC is out of sight", "unseen", false, false],
] as const)("%s costs one review in ten seconds", async (_what, rbac, says, trustsRbac) => {
  const { state, decide } = cluster(trustsRbac);
  Object.assign(state, { rbac, says });
  for (const now of [0, 5_000, REVIEW_TTL_MS - 1]) {
    state.now = 1e12 + now;
    expect(await decide()).toBe(says);
  }
  expect(state.asked).toBe(1);
  state.now = 1e12 + REVIEW_TTL_MS + 1;
  await decide();
  expect(state.asked).toBe(2);
});

test("a clock that is set back does not lengthen it", async () => {
  const steady = vi.spyOn(performance, "now").mockReturnValue(1000);
  const { state, decide } = cluster();
  state.says = true;
  expect(await decide()).toBe(true);
  state.says = false;
  state.now -= 3_600_000;
  expect(await decide()).toBe(true);
  steady.mockReturnValue(1000 + REVIEW_TTL_MS + 1);
  expect(await decide()).toBe(false);
});

test("where RBAC's yes is trusted nothing is asked, and out of sight is an error", async () => {
  const { state, decide } = cluster(true);
  state.rbac = true;
  expect(await decide({ verb: "get", on: App, namespace: "acme-dev" })).toBe(true);
  expect(state.asked).toBe(0);
  state.rbac = "unseen";
  await expect(decide()).rejects.toThrow(NotSynced);
});

const app = (name: string, namespace = "acme-dev") =>
  ({ apiVersion: "cupola.dev/v1alpha1", kind: "App", metadata: { name, namespace } }) as App;
const getApp = (name: string): AccessAttributes => ({ verb: "get", on: App, namespace: "acme-dev", name });
const targets = (more: Partial<ReviewTargets>): ReviewTargets => ({
  namespaces: new Set(),
  objects: [],
  lists: [],
  ...more,
});

test("an undeclared permission is refused without a review", () => {
  const { state, request } = cluster();
  state.says = true;
  expect(request().allows(getApp("one"))).toBe(false);
  expect(state.asked).toBe(0);
});

test("a permission for the namespace covers all its objects without further reviews", async () => {
  const { state, questions, request } = cluster();
  state.says = ({ namespace }) => namespace === "acme-dev";
  const permissions = request();
  await permissions.judge?.(targets({ lists: [{ ref: App, objects: [app("one"), app("two")] }] }));
  expect(permissions.filterVisible(App, [app("one"), app("two"), app("three", "other")])).toEqual([
    app("one"),
    app("two"),
  ]);
  expect(questions.filter((one) => one.startsWith("get apps acme-dev"))).toEqual(["get apps acme-dev/*"]);
});

test("where the namespace's answer is no, each named or listed object is asked about by name", async () => {
  const { state, questions, request } = cluster();
  state.says = ({ name }) => name === "one";
  const permissions = request();
  await permissions.judge?.(
    targets({ objects: [{ ref: App, object: app("one") }], lists: [{ ref: App, objects: [app("two")] }] }),
  );
  expect([permissions.allows(getApp("one")), permissions.allows(getApp("two"))]).toEqual([true, false]);
  expect(questions.filter((one) => one.startsWith("get apps acme-dev")).sort()).toEqual([
    "get apps acme-dev/*",
    "get apps acme-dev/one",
    "get apps acme-dev/two",
  ]);
});

test("a list that needs too many reviews is refused with a hint", async () => {
  const { request } = cluster();
  const objects = Array.from({ length: 2001 }, (_, at) => app(`app-${at}`));
  await expect(request().judge?.(targets({ lists: [{ ref: App, objects }] }))).rejects.toThrow("Narrow it down");
});

test("only what the endpoint declares is reviewed, besides get", async () => {
  const { questions, request } = cluster();
  await request().judge?.(targets({ namespaces: new Set(["acme-dev"]) }));
  expect(questions.sort()).toEqual(["get apps */*", "get apps acme-dev/*"]);
});
