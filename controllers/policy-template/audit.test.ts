// The audit: an object is judged when it, its namespace's labels or a constraint changes, and only then.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { App } from "../../crds/app/app.ts";
import { CONSTRAINTS_GROUP } from "../../crds/groups.ts";
import type { Constraint } from "../../crds/policy-template/constraint.ts";
import { prepareConstraint, type JudgingConstraint } from "../../crds/policy-template/evaluate.ts";
import { toNamespaceLabels } from "../../crds/space/namespace-labels.ts";
import { PolicyTemplate } from "../../crds/policy-template/policy-template.ts";
import { Task } from "../../crds/task/task.ts";
import { anApp, makeObject } from "../../crds/testing/objects.ts";
import { Namespace } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { createDynamicWatches } from "../../kube/cache/dynamic-watches.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { WritableStore } from "../../kube/cache/store.ts";
import { PolicyAudit } from "./audit.ts";

const rules = PolicyTemplate.spec.parse({
  kind: "Demo",
  title: "Demo",
  subjects: ["App"],
  rules: [
    { expression: "has(object.metadata.labels) && 'owner' in object.metadata.labels", message: "needs an owner" },
  ],
});

/** At most one app in a space, or in an org. */
const onlyOne = (scope: string, kind = "App") =>
  PolicyTemplate.spec.parse({
    ...rules,
    reads: [{ as: "others", kind, scope }],
    rules: [{ expression: "refs.others.size() == 0", message: "there is another" }],
  });

function aConstraint(match: object = {}, name = "c", template = rules): JudgingConstraint {
  const constraint = {
    apiVersion: `${CONSTRAINTS_GROUP}/v1alpha1`,
    kind: "Demo",
    metadata: { name, uid: "u", generation: 1 },
    spec: { match, enforcement: { action: "deny" } },
  } as Constraint;
  return prepareConstraint(template, constraint, new Date());
}

const production = { spaceLabels: { matchLabels: { env: "production" } } };
const ID = "Demo/c";

let version = 0;
const next = <T extends KubeObject>(object: T): T => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion: String(++version) },
});
const task = (name: string): KubeObject =>
  next(makeObject(Task, name, { spec: { appRef: { name: "a" }, command: "x" } }));
const app = (name: string, labels: Record<string, string> = {}): KubeObject =>
  next(anApp({}, { metadata: { name, uid: `uid-${name}`, labels } }));
const space = (env: string): KubeObject =>
  next({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: {
      name: "acme-dev",
      uid: "uid-ns",
      labels: toNamespaceLabels({ org: { name: "acme" }, space: { name: "dev", labels: { env } } }),
    },
  });

let stores: Map<string, WritableStore<KubeObject>>;
let audit: PolicyAudit;
/** Ids that listeners were called with. */
let told: string[];
/** Apps that were read to be judged. */
let judged: string[];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  const onFault = (error: unknown): never => {
    throw error;
  };
  stores = new Map(
    ([App, Task, Namespace] as ResourceRef[]).map((ref) => [ref.kind, new WritableStore<KubeObject>(ref, { onFault })]),
  );
  const ensure = ({ ref }: { ref: ResourceRef }) => ({ store: storeOf(ref), release: () => undefined });
  audit = new PolicyAudit({
    read: {
      find: (ref, key) => {
        if (ref.kind === App.kind) judged.push(key.name);
        return storeOf(ref).find(key) as never;
      },
      list: (ref, filter) => storeOf(ref as never).list(filter),
    } as Partial<Reader> as Reader,
    store: (ref) => storeOf(ref) as never,
    dynamicWatches: (options) => createDynamicWatches({ ...options, ensure, log: { warn: () => undefined } as never }),
  });
  told = [];
  judged = [];
  audit.onChange((id) => told.push(id));
});
afterEach(async () => {
  await audit.close();
  vi.useRealTimers();
});

function storeOf(ref: Pick<ResourceRef, "kind">): WritableStore<KubeObject> {
  const store = stores.get(ref.kind);
  if (!store) throw new Error(`${ref.kind} is not watched`);
  return store;
}

function fill({ apps = [], namespaces = [space("production")] }: { apps?: KubeObject[]; namespaces?: KubeObject[] }) {
  storeOf(Namespace).replace(namespaces, String(version));
  storeOf(App).replace(apps, String(version));
}

/** Runs timers and deliveries, then returns the names of the violating apps. */
async function violating(id = ID): Promise<string[] | undefined> {
  await vi.advanceTimersByTimeAsync(2_000);
  return audit.find(id)?.violations.map(({ object }) => object.name);
}

test("stored objects are judged, and counted", async () => {
  fill({ apps: [app("bad"), app("good", { owner: "ada" })] });
  audit.replace([aConstraint()]);
  expect(await violating()).toEqual(["bad"]);
  expect(audit.find(ID)).toMatchObject({ objects: 2, violations: [{ message: "needs an owner", action: "deny" }] });
  expect(told).toEqual([ID]);
});

test("an object that is added, changed or deleted is judged again", async () => {
  fill({});
  audit.replace([aConstraint()]);
  expect(await violating()).toEqual([]);
  storeOf(App).upsert(app("a"));
  expect(await violating()).toEqual(["a"]);
  storeOf(App).upsert(app("a", { owner: "ada" }));
  expect(await violating()).toEqual([]);
  storeOf(App).upsert(app("a"));
  storeOf(App).upsert(app("b"));
  expect(await violating()).toEqual(["a", "b"]);
  storeOf(App).remove(app("a"));
  expect(await violating()).toEqual(["b"]);
  expect(audit.find(ID)?.objects).toBe(1);
});

test("a change of the violations is told, once for a burst; any other change is not", async () => {
  fill({});
  audit.replace([aConstraint()]);
  await violating();
  told.length = 0;
  storeOf(App).upsert(app("a"));
  storeOf(App).upsert(app("b"));
  await violating();
  expect(told).toEqual([ID]);
  storeOf(App).upsert(app("a", { other: "label" }));
  storeOf(App).upsert(app("c", { owner: "ada" }));
  await violating();
  expect(told).toEqual([ID]);
});

test("a changed label of the namespace moves its objects into the match and out of it", async () => {
  fill({ apps: [app("bad")], namespaces: [space("test")] });
  audit.replace([aConstraint(production)]);
  expect(await violating()).toEqual([]);
  storeOf(Namespace).upsert(space("production"));
  expect(await violating()).toEqual(["bad"]);
  storeOf(Namespace).upsert(space("test"));
  expect(await violating()).toEqual([]);
});

test("labels that change right after the first judgement count", async () => {
  fill({ apps: [app("bad")], namespaces: [space("test")] });
  audit.replace([aConstraint(production)]);
  storeOf(Namespace).upsert(space("production"));
  expect(await violating()).toEqual(["bad"]);
});

test("objects of spaces that a constraint does not select are counted and not judged", async () => {
  fill({ apps: [app("bad")], namespaces: [space("test")] });
  audit.replace([aConstraint(production)]);
  expect(await violating()).toEqual([]);
  expect([audit.find(ID)?.objects, judged]).toEqual([1, []]);
});

test("an object that is cached before its namespace is judged again with the namespace's labels", async () => {
  fill({ namespaces: [] });
  audit.replace([aConstraint(production)]);
  await violating();
  storeOf(App).upsert(app("bad"));
  expect(await violating()).toEqual([]);
  storeOf(Namespace).upsert(space("production"));
  expect(await violating()).toEqual(["bad"]);
});

test("a replaced constraint is judged anew, an unchanged one keeps its result", async () => {
  fill({ apps: [app("bad")] });
  const kept = aConstraint({}, "kept");
  audit.replace([aConstraint(), kept]);
  expect(await violating()).toEqual(["bad"]);
  told.length = 0;
  audit.replace([aConstraint({ orgs: ["other"] }), kept]);
  expect(await violating()).toEqual([]);
  expect(await violating("Demo/kept")).toEqual(["bad"]);
  expect(told).toEqual([ID]);
});

test("a constraint that is gone has no result", async () => {
  fill({ apps: [app("bad")] });
  audit.replace([aConstraint()]);
  expect(await violating()).toEqual(["bad"]);
  audit.replace([]);
  expect(await violating()).toBeUndefined();
});

test("there is no result before the caches are filled; then it comes by itself", async () => {
  audit.replace([aConstraint()]);
  expect(await violating()).toBeUndefined();
  storeOf(App).replace([app("bad")], String(version));
  expect(await violating()).toBeUndefined();
  storeOf(Namespace).replace([space("production")], String(version));
  await vi.advanceTimersByTimeAsync(3_000);
  expect(await violating()).toEqual(["bad"]);
});

describe("the violations of an app", () => {
  const KEY = "App acme-dev/bad";
  let apps: string[];
  beforeEach(() => {
    apps = [];
    audit.onShownChange((id) => apps.push(id));
  });
  const messages = (key = KEY): string[] | undefined => audit.findShownOn(key)?.map(({ message }) => message);

  test("are those of all constraints, told once they are known, and again when they are over", async () => {
    fill({ apps: [app("bad"), app("good", { owner: "ada" })] });
    audit.replace([aConstraint(), aConstraint({}, "d")]);
    await violating();
    expect([messages(), messages("App acme-dev/good"), apps]).toEqual([
      ["needs an owner", "needs an owner"],
      [],
      [KEY],
    ]);
    audit.replace([aConstraint()]);
    await violating();
    expect([messages(), apps]).toEqual([["needs an owner"], [KEY, KEY]]);
    storeOf(App).remove(app("bad"));
    await violating();
    expect([messages(), apps]).toEqual([[], [KEY, KEY, KEY]]);
  });

  test("are unknown, and nobody is told, while a constraint is not judged or not known", async () => {
    fill({ apps: [app("bad")] });
    audit.replace([aConstraint()], false);
    await violating();
    expect([messages(), apps]).toEqual([undefined, []]);
    audit.replace([aConstraint()], true);
    await violating();
    expect([messages(), apps]).toEqual([["needs an owner"], [KEY]]);
  });
});

test.each(["space", "org", "platform"])(
  "objects are judged again when those that rules read in the %s change",
  async (scope) => {
    fill({ apps: [app("a")] });
    audit.replace([aConstraint({}, "c", onlyOne(scope))]);
    expect(await violating()).toEqual([]);
    storeOf(App).upsert(app("b"));
    expect(await violating()).toEqual(["a", "b"]);
    storeOf(App).remove(app("b"));
    expect(await violating()).toEqual([]);
  },
);

test("objects whose verdict is not known are counted, and judged once what rules read is known", async () => {
  fill({ apps: [app("a")] });
  audit.replace([aConstraint({}, "c", onlyOne("space", "Task"))]);
  expect(await violating()).toEqual([]);
  expect(audit.find(ID)).toMatchObject({ objects: 1, unknown: 1 });
  storeOf(Task).replace([task("t")], String(version));
  expect(await violating()).toEqual(["a"]);
  expect(audit.find(ID)).toMatchObject({ objects: 1, unknown: 0 });
});
