// Remembered lists show what a list found anew shows, whatever has changed meanwhile; and a change costs the list that object, not all of them.
import { expect, test, vi } from "vitest";
import { App } from "../../crds/app/app.ts";
import { Claim } from "../../crds/claim/claim.ts";
import { claimedNameOf } from "../../crds/claim/claimed-name.ts";
import { newClaim } from "../../crds/claim/rules.ts";
import { LABELS } from "../../crds/labels.ts";
import { sortKeyOfName } from "../../crds/object-names.ts";
import { Stack } from "../../crds/stack/stack.ts";
import { ClusterRole, RoleBinding } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ListParameters } from "../http/query.ts";
import { isOneOf, listObjects, type ListOptions } from "./list-objects.ts";
import { createLiveCache, type LiveCache } from "../access/testing/live-cache.ts";

const USERS = ["dev", "guest"];
const NAMESPACES = ["a", "b", "c"];

interface Version {
  name: string;
  namespace: string;
  uid: string;
  /** Seconds. */
  created: number;
  cfName?: string;
  guid?: string;
  state?: string;
  stack?: string;
}

let versions = 1;

function app({ name, namespace, uid, created, cfName = name, guid, state = "Stopped", stack }: Version): App {
  return {
    apiVersion: "cupola.dev/v1alpha1",
    kind: "App",
    metadata: {
      name,
      namespace,
      uid,
      resourceVersion: String(++versions),
      creationTimestamp: new Date(created * 1000).toISOString().replace(".000Z", "Z"),
      labels: guid ? { [LABELS.guid]: guid } : {},
    },
    spec: { name: cfName, state, lifecycle: { type: "buildpack", buildpacks: [], ...(stack && { stack }) } },
  } as unknown as App;
}

function claimOf(object: App): Claim {
  const name = claimedNameOf("App", object, () => undefined);
  if (!name) throw new Error("an app claims a name");
  const { namespace = "", name: objectName } = object.metadata;
  const claim = newClaim(name, { kind: "App", namespace, name: objectName }, new Date(0));
  return { ...claim, metadata: { ...claim.metadata, uid: claim.metadata.name, resourceVersion: String(++versions) } };
}

function grant(live: LiveCache, user: string, namespace: string, given = true): void {
  const binding = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name: user, namespace, uid: `${user}-${namespace}`, resourceVersion: String(++versions) },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "reader" },
    subjects: [{ kind: "User", name: user }],
  } as unknown as KubeObject;
  const store = live.store(RoleBinding as never);
  if (given) store.upsert(binding as never);
  else store.remove(binding as never);
}

function readersRole(live: LiveCache): void {
  live.store(ClusterRole as never).upsert({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: "reader", uid: "reader", resourceVersion: String(++versions) },
    rules: [{ apiGroups: ["cupola.dev"], resources: ["apps"], verbs: ["get"] }],
  } as never);
}

/** Uniform, and the same in every run. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const QUERIES: { query: object; options: (live: LiveCache) => ListOptions<App> }[] = [
  { query: {}, options: () => ({ filterReads: [], dependsOn: [Stack] }) },
  { query: { order_by: "-created_at" }, options: () => ({}) },
  { query: { order_by: "name" }, options: () => ({ sortKeys: { name: sortKeyOfName } }) },
  { query: { order_by: "-name" }, options: () => ({ sortKeys: { name: sortKeyOfName } }) },
  { query: { order_by: "updated_at" }, options: () => ({}) },
  { query: { "created_ats[gt]": 2 }, options: () => ({}) },
  { query: { "created_ats[gte]": 2, "created_ats[lt]": 4 }, options: () => ({}) },
  { query: { created_ats: [1, 4], "created_ats[lte]": 3 }, options: () => ({}) },
  {
    query: { "created_ats[gt]": 1 },
    options: () => ({
      lookUp: ["cfName", ["shop"]],
      filter: (one) => sortKeyOfName(one) === "shop" && one.spec.state === "Started",
    }),
  },
  { query: {}, options: () => ({ scope: { namespaces: ["b", "c"] } }) },
  { query: {}, options: () => ({ filter: (one) => one.spec.state === "Started" }) },
  {
    query: {},
    options: ({ cache }) => ({
      filter: (one) => isOneOf(["known"], cache.store(Stack).list()[0]?.spec.name ?? one.spec.lifecycle.stack ?? ""),
      dependsOn: [Stack],
    }),
  },
];

/** Every list of every user, remembered and found anew. */
function expectSameLists(live: LiveCache, step: string): void {
  for (const user of USERS)
    for (const [at, { query, options }] of QUERIES.entries()) {
      const parameters = { page: 1, per_page: 50, ...query } as ListParameters;
      const list = (url?: string): string[] =>
        listObjects(live.session(user), App, parameters, { ...options(live), ...(url && { url }) }).map(
          ({ metadata }) => `${metadata.namespace}/${metadata.name}@${metadata.resourceVersion}`,
        );
      expect(list(`/v3/apps?q=${at}`), `${step}: list ${at} of ${user}`).toEqual(list());
    }
}

/** A run of changes: uniform random numbers below a bound, and the apps that there are. */
interface Run {
  live: LiveCache;
  next: (below: number) => number;
  known: Map<string, Version>;
}

interface Target {
  namespace: string;
  name: string;
  key: string;
  before: Version | undefined;
}

function writeApp({ live, next, known }: Run, { namespace, name, key, before }: Target, asNew: boolean): void {
  const after: Version = {
    ...(asNew || !before ? { name, namespace, uid: `uid-${++versions}`, created: next(6) } : before),
    cfName: ["Shop", "shop", name][next(3)] ?? name,
    // Copies of one manifest have one GUID.
    ...(next(4) === 0 && { guid: `00000000-0000-4000-8000-00000000000${next(3)}` }),
    state: next(2) === 0 ? "Started" : "Stopped",
    stack: next(2) === 0 ? "known" : "other",
  };
  known.set(key, after);
  live.store(App).upsert(app(after));
}

function deleteApp({ live, known }: Run, { key, before }: Target): void {
  known.delete(key);
  if (before) live.store(App).remove(app(before));
}

function changeClaim({ live, next }: Run, { before }: Target): void {
  if (!before) return;
  const claim = claimOf(app(before));
  if (next(4) > 0) live.store(Claim).upsert(claim);
  else live.store(Claim).remove(claim);
}

function changeStack({ live, next }: Run): void {
  const metadata = { name: "s", uid: "s", resourceVersion: String(++versions) };
  const stack = { kind: "Stack", metadata, spec: { name: "known" } } as unknown as Stack;
  if (next(2) === 0) live.store(Stack).upsert(stack);
  else live.store(Stack).remove(stack);
}

const CHANGES: readonly [what: string, change: (run: Run, at: Target) => void][] = [
  ["write", (run, at) => writeApp(run, at, false)],
  ["write", (run, at) => writeApp(run, at, false)],
  ["write", (run, at) => writeApp(run, at, false)],
  ["write", (run, at) => writeApp(run, at, false)],
  ["recreate", (run, at) => writeApp(run, at, true)],
  ["delete", deleteApp],
  ["claim", changeClaim],
  ["claim", changeClaim],
  ["claim", changeClaim],
  ["grant or revoke", ({ live, next }, { namespace }) => grant(live, USERS[next(2)] ?? "", namespace, next(3) > 0)],
  ["stack", changeStack],
];

/** A random change; says which. */
function change(run: Run): string {
  const { next, known } = run;
  const [namespace = "", name] = [NAMESPACES[next(3)], `app-${next(8)}`];
  const key = `${namespace}/${name}`;
  const [what, apply] = CHANGES[next(CHANGES.length)] ?? ["", () => undefined];
  apply(run, { namespace, name, key, before: known.get(key) });
  return `${what} ${key}`;
}

test.each([1, 2, 3, 4])("after any change, lists are what they would be found to be: seed %i", (seed) => {
  const live = createLiveCache();
  readersRole(live);
  for (const namespace of ["a", "b"]) grant(live, "dev", namespace);
  const next = random(seed);
  const run: Run = { live, next, known: new Map() };
  const steps: string[] = [];
  for (let at = 0; at < 400; at++) {
    steps.push(change(run));
    // Several changes between two reads are as usual as one.
    if (next(3) > 0) expectSameLists(live, steps.slice(-5).join(", "));
  }
});

const APPS = 10_000;

function tenThousandApps(): { live: LiveCache; touch(at: number): void } {
  const live = createLiveCache();
  readersRole(live);
  grant(live, "dev", "a");
  const version = (at: number): Version => ({ name: `app-${at}`, namespace: "a", uid: `uid-${at}`, created: at });
  for (let at = 0; at < APPS; at++) {
    live.store(App).upsert(app(version(at)));
    live.store(Claim).upsert(claimOf(app(version(at))));
  }
  return { live, touch: (at) => live.store(App).upsert(app({ ...version(at), state: "Started" })) };
}

test("what a page costs at 10,000 apps: objects whose rights and claims are looked up, and objects that the filter sees", () => {
  const { live, touch } = tenThousandApps();
  const lookUps = vi.spyOn(live.store(Claim), "find");
  let filtered = 0;
  const costOf = (url: string): [claims: number, filtered: number] => {
    lookUps.mockClear();
    filtered = 0;
    const filter = (): boolean => ++filtered > 0;
    const found = listObjects(live.session("dev"), App, { page: 1, per_page: 50 }, { url, filter, dependsOn: [] });
    expect(found).toHaveLength(APPS);
    return [lookUps.mock.calls.length, filtered];
  };
  expect(costOf("/v3/apps"), "the first page of all").toEqual([APPS, APPS]);
  expect(costOf("/v3/apps?page=7"), "another page").toEqual([0, 0]);
  expect(costOf("/v3/apps?names=x"), "a filter never asked for before").toEqual([0, APPS]);
  for (let at = 0; at < 20; at++) touch(at);
  expect(costOf("/v3/apps"), "after 20 apps have changed").toEqual([20, 20]);
  expect(costOf("/v3/apps?names=x"), "another list after that: the first one's changes are its own").toEqual([20, 20]);
  grant(live, "guest", "a");
  expect(costOf("/v3/apps"), "after a change of RBAC").toEqual([APPS, APPS]);
});

test("no two lists are one array: their pages show different things of the same objects", () => {
  const { live } = tenThousandApps();
  const list = (url: string): unknown => listObjects(live.session("dev"), App, { page: 1, per_page: 50 }, { url });
  expect(list("/v3/apps")).toBe(list("/v3/apps?page=2"));
  expect(list("/v3/apps")).not.toBe(list("/v3/apps?include=space"));
});

test("a list is refused, not shown as it was, while RBAC cannot be watched", () => {
  const { live } = tenThousandApps();
  const list = (): unknown => listObjects(live.session("dev"), App, { page: 1, per_page: 50 }, { url: "/v3/apps" });
  expect(list()).toHaveLength(APPS);
  live.store(RoleBinding as never).setState("parked", "Forbidden");
  expect(list).toThrow("rolebindings");
  live.store(RoleBinding as never).replace([], "9");
  live.store(RoleBinding as never).setState("watching");
  expect(list(), "the role went while nobody could see it").toHaveLength(0);
});

test.each([
  ["the namespaces", { namespaces: ["b"] }],
  ["the index", { index: ["cfName", "other"] as const }],
])("guids= shows none but the objects in %s that a list is of", (_what, scope) => {
  const live = createLiveCache();
  readersRole(live);
  for (const namespace of ["a", "b"]) grant(live, "dev", namespace);
  const versionsOf = [
    { name: "one", namespace: "a", uid: "uid-one", created: 1, cfName: "shop" },
    { name: "two", namespace: "b", uid: "uid-two", created: 2, cfName: "other" },
  ];
  for (const version of versionsOf) {
    live.store(App).upsert(app(version));
    live.store(Claim).upsert(claimOf(app(version)));
  }
  const list = (options: ListOptions<App>): string[] =>
    listObjects(live.session("dev"), App, { page: 1, per_page: 50, guids: ["uid-one", "uid-two"] }, options).map(
      ({ metadata }) => metadata.name,
    );
  expect(list({})).toEqual(["one", "two"]);
  expect(list({ scope })).toEqual(["two"]);
});
