// Cost of reconciling one of many Routes of a host, and which Routes other objects enqueue. Counted, not timed.
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { Claim } from "../../crds/claim/claim.ts";
import { domainName, newClaim, routeName } from "../../crds/claim/rules.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { LABELS } from "../../crds/labels.ts";
import { Org } from "../../crds/org/org.ts";
import { Route } from "../../crds/route/route.ts";
import { Space } from "../../crds/space/space.ts";
import { Namespace } from "../../kube/api/builtin.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { ReconcileContext, MapResult } from "../../kube/controller/controller.ts";
import { keyOf, type KubeObject, type ObjectKey } from "../../kube/api/object.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { NotSynced } from "../../kube/cache/errors.ts";
import { type ObjectOf, resourceId, type ResourceRef } from "../../kube/api/resource-ref.ts";
import { WritableStore } from "../../kube/cache/store.ts";
import { countSteps } from "../../kube/testing/count-steps.ts";
import { OPEN_GATE } from "../shared/start-gate.ts";
import { createControllers } from "../controllers.ts";
import { makeObject } from "../../crds/testing/objects.ts";

const controllers = createControllers({ apiURL: "", hasContent: () => Promise.resolve(true), startGate: OPEN_GATE });
const route = controllers.find(({ name }) => name === "route") ?? expect.fail("there is no route controller");

/** A reader of objects, with the indexes of the controllers. */
function startWorld() {
  const stores = new Map<string, WritableStore<KubeObject>>();
  const open = (ref: ResourceRef): WritableStore<KubeObject> => {
    const indexes = Object.assign(
      {},
      ...controllers.filter((one) => resourceId(one.for) === resourceId(ref)).map((one) => one.indexes),
    ) as NonNullable<(typeof route)["indexes"]>;
    const store = new WritableStore<KubeObject>(ref, { indexes, onFault: (error) => expect.fail(String(error)) });
    store.replace([], "1");
    store.setState("watching");
    stores.set(resourceId(ref), store);
    return store;
  };
  const store = (ref: ResourceRef): WritableStore<KubeObject> => stores.get(resourceId(ref)) ?? open(ref);
  const read = {
    find: (ref, key) => store(ref).find(key),
    get: (ref, key) => store(ref).get(key),
    getMany: (ref, keys) => store(ref).getMany(keys),
    list: (ref, filter) => store(ref).list(filter),
    byIndex: (ref, index, value, namespace) => store(ref).byIndex(index, value, namespace),
    byUid: (ref, uid) => store(ref).byUid(uid),
  } as Reader;
  const put = <T extends KubeObject>(ref: ResourceRef<T>, object: T): T => {
    store(ref).upsert(object);
    return object;
  };
  return { read, put, remove: (ref: ResourceRef, object: KubeObject) => store(ref).remove(object) };
}

type World = ReturnType<typeof startWorld>;

function addSpace({ put }: World, org: string): void {
  const namespace = `${org}-dev`;
  put(Org, makeObject(Org, org, { spec: {}, metadata: { uid: `org-${org}` } }));
  put(Space, makeObject(Space, "dev", { spec: {}, metadata: { namespace: org, uid: `space-${org}` } }));
  const at = (name: string, owner: string): ObjectOf<typeof Namespace> => ({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name, uid: name, labels: { [LABELS.ownerUid]: owner, [LABELS.org]: org, [LABELS.space]: "dev" } },
  });
  put(Namespace, at(org, `org-${org}`));
  put(Namespace, at(namespace, `space-${org}`));
}

function addDomain(
  { put }: World,
  namespace: string,
  name: string,
  spec: { name: string; sharedOrgs?: string[] },
): Domain {
  const domain = put(Domain, makeObject(Domain, name, { spec, metadata: { namespace, uid: `${namespace}/${name}` } }));
  put(Claim, newClaim(domainName(domain), { kind: "Domain", namespace, name }, new Date(0)));
  return domain;
}

/** Adds the Route number `at` with its claim; `domain` is the domain's spec.name. */
function addRoute(
  { put }: World,
  org: string,
  at: number,
  { ref = "apps", domain = "apps.example", host = "shop" } = {},
): { route: Route; claim: Claim } {
  const name = `r${at}`;
  const namespace = `${org}-dev`;
  const one = put(
    Route,
    makeObject(Route, name, {
      spec: { host, path: `/${at}`, domainRef: { name: ref } },
      metadata: { namespace, uid: `${namespace}/${name}` },
    }),
  );
  return {
    route: one,
    claim: put(Claim, newClaim(routeName(one, domain), { kind: "Route", namespace, name }, new Date(at))),
  };
}

/** Every Route that the controller's watch rules enqueue for this object. */
function woken({ read }: World, ref: ResourceRef, object: KubeObject): string[] {
  const rules = (route.watches ?? []).filter((rule) => resourceId(rule.ref) === resourceId(ref));
  const isKeys = (wish: MapResult): wish is readonly ObjectKey[] => Array.isArray(wish);
  const asked = (wish: MapResult): readonly ObjectKey[] =>
    isKeys(wish)
      ? wish
      : Object.entries(wish).flatMap(([index, values]) =>
          [values].flat().flatMap((value) => read.byIndex(Route, index, value).map(({ metadata }) => metadata)),
        );
  return [...new Set(rules.flatMap(({ mapTo }) => asked(mapTo(object, read)).map(keyOf)))].sort();
}

function startAcme(): World {
  const world = startWorld();
  for (const org of ["acme", "other", "third"]) addSpace(world, org);
  addDomain(world, SYSTEM_NAMESPACE, "apps", { name: "apps.example" });
  world.put(BackendClass, makeObject(BackendClass, "router", { spec: { role: "router", default: true } }));
  return world;
}

/** Reads of one reconcile of a Route that shares its host with `count` others. */
async function lookCost(count: number, kind: "shared" | "private"): Promise<number> {
  const world = startAcme();
  const at = kind === "shared" ? {} : { ref: "own", domain: "own.example" };
  addDomain(world, "acme", "own", { name: "own.example" });
  // Unrelated domains.
  for (let more = 0; more < count; more++) addDomain(world, "other", `d${more}`, { name: `d${more}.example` });
  for (let more = 1; more < count; more++) addRoute(world, "acme", more, at);
  const { route: last } = addRoute(world, "acme", count, at);
  const context: ReconcileContext = {
    read: world.read,
    client: {} as KubeClient,
    clusters: { markers: undefined, find: () => undefined, names: () => [] },
    recordEvent: () => undefined,
    now: () => new Date(),
    log: pino({ level: "silent" }),
    signal: new AbortController().signal,
  };
  return countSteps(async () => {
    const result = await route.reconcile(last, context);
    if (result.children?.length !== 1) throw new Error("it is not served");
  });
}

describe("looking at a Route", () => {
  test("costs the same beside a hundred others of its host and a thousand on a private domain", async () => {
    expect(await lookCost(1000, "private")).toBe(await lookCost(100, "private"));
  });

  test("costs one look at each claim on the host on a shared one", async () => {
    expect((await lookCost(1000, "shared")) - (await lookCost(100, "shared"))).toBeLessThanOrEqual(900 * 3);
  });
});

describe("who is woken", () => {
  test("by a Route: nothing, whatever changes", () => {
    const world = startAcme();
    addRoute(world, "other", 2);
    expect(woken(world, Route, addRoute(world, "acme", 1).route)).toEqual([]);
  });

  test("by a Route that waits for a quota: those of its org that wait for another reason; by a deleted one all", () => {
    const world = startAcme();
    const wait = (org: string, at: number, reason: string): Route => {
      const { route: one } = addRoute(world, org, at);
      const ready = { type: "Ready", status: "False", reason, message: "", lastTransitionTime: "" } as const;
      const metadata = { ...one.metadata, resourceVersion: "2" };
      return world.put(Route, { ...one, metadata, status: { conditions: [ready] } });
    };
    const waiting = wait("acme", 1, "QuotaExceeded");
    wait("acme", 2, "QuotaExceeded");
    wait("acme", 3, "PortQuotaExceeded");
    wait("other", 4, "QuotaExceeded");
    expect(woken(world, Route, waiting)).toEqual(["acme-dev/r3"]);
    world.remove(Route, waiting);
    expect(woken(world, Route, waiting)).toEqual(["acme-dev/r2", "acme-dev/r3"]);
  });

  test("by a claim on a host that a space owns: no Route of other spaces", () => {
    const world = startAcme();
    const [first, second] = [addRoute(world, "acme", 1), addRoute(world, "acme", 2)];
    const waiting = addRoute(world, "other", 9);
    world.remove(Claim, waiting.claim);
    expect(woken(world, Claim, second.claim)).toEqual(["acme-dev/r2"]);
    world.remove(Claim, first.claim);
    expect(woken(world, Claim, first.claim)).toEqual(["acme-dev/r1"]);
    world.remove(Claim, second.claim);
    expect(woken(world, Claim, second.claim)).toEqual(["acme-dev/r2", "other-dev/r9"]);
  });

  test("by a claim when two spaces hold some: all, as soon as the host passes from one to the other", () => {
    const world = startAcme();
    const [first, theirs, second] = [
      addRoute(world, "acme", 1),
      addRoute(world, "other", 2),
      addRoute(world, "acme", 3),
    ];
    const all = ["acme-dev/r1", "acme-dev/r3", "other-dev/r2"];
    expect([
      woken(world, Claim, first.claim),
      woken(world, Claim, theirs.claim),
      woken(world, Claim, second.claim),
    ]).toEqual([all, ["other-dev/r2"], ["acme-dev/r3"]]);
    world.remove(Claim, first.claim);
    expect(woken(world, Claim, first.claim)).toEqual(all);
  });

  test("by a claim on a hostname as that of a domain: who has it as a host, and the other way round", () => {
    const world = startAcme();
    const { claim: theirs } = addRoute(world, "acme", 1);
    addDomain(world, "other", "inner", { name: "shop.apps.example" });
    const inner = world.put(
      Route,
      makeObject(Route, "root", {
        spec: { host: "", domainRef: { name: "inner" } },
        metadata: { namespace: "other-dev" },
      }),
    );
    const claim = newClaim(
      routeName(inner, "shop.apps.example"),
      { kind: "Route", namespace: "other-dev", name: "root" },
      new Date(0),
    );
    expect([woken(world, Claim, theirs), woken(world, Claim, claim)]).toEqual([
      ["acme-dev/r1", "other-dev/root"],
      ["acme-dev/r1", "other-dev/root"],
    ]);
  });

  test("by a claim on its host in another case", () => {
    const world = startAcme();
    const { claim } = addRoute(world, "acme", 1);
    addRoute(world, "other", 2, { host: "Shop" });
    expect(woken(world, Claim, claim)).toEqual(["acme-dev/r1", "other-dev/r2"]);
  });

  test("by a claim while Domains of some org are still to be listed: those who are known", () => {
    const world = startAcme();
    const { claim } = addRoute(world, "acme", 1);
    const byIndex: Reader["byIndex"] = (ref, index, value, namespace) => {
      const found = world.read.byIndex(ref, index, value, namespace);
      if (resourceId(ref) === resourceId(Domain) && found.length === 0) throw new NotSynced("domains");
      return found;
    };
    expect(woken({ ...world, read: { ...world.read, byIndex } }, Claim, claim)).toEqual(["acme-dev/r1"]);
  });

  test("by a claim on an address: no Route with the same host on another domain", () => {
    const world = startAcme();
    addDomain(world, "acme", "own", { name: "own.example" });
    addRoute(world, "acme", 1, { ref: "own", domain: "own.example" });
    world.put(
      Route,
      makeObject(Route, "same", {
        spec: { host: "shop", path: "/1", domainRef: { name: "apps" } },
        metadata: { namespace: "other-dev" },
      }),
    );
    expect(
      woken(
        world,
        Claim,
        newClaim(
          { scope: "route/own.example", claimed: "shop:0/1" },
          { kind: "Route", namespace: "acme-dev", name: "r1" },
          new Date(0),
        ),
      ),
    ).toEqual(["acme-dev/r1"]);
  });

  test("by a Domain: everybody's Routes where it is shared by all, else those of its org and of whom it is shared with", () => {
    const world = startAcme();
    for (const org of ["acme", "other", "third"]) addRoute(world, org, 1);
    const [shared] = world.read.list(Domain, { namespace: SYSTEM_NAMESPACE });
    const own = addDomain(world, "acme", "apps", { name: "own.example", sharedOrgs: ["third"] });
    const claim = newClaim(domainName(own), { kind: "Domain", namespace: "acme", name: "apps" }, new Date(0));
    expect(woken(world, Domain, shared as Domain)).toEqual(["acme-dev/r1", "other-dev/r1", "third-dev/r1"]);
    expect([woken(world, Domain, own), woken(world, Claim, claim)]).toEqual([
      ["acme-dev/r1", "third-dev/r1"],
      ["acme-dev/r1", "third-dev/r1"],
    ]);
  });
});
