// Permissions revoked and granted at run time: watches park within the bound, nothing is deleted, and everything resumes by itself.
import { afterEach, describe, expect, it } from "vitest";
import { ClusterRoleBinding, ConfigMap, CustomResourceDefinition, Namespace } from "../../../kube/api/builtin.ts";
import { defineController, type Controller } from "../../../kube/controller/controller.ts";
import type { Store } from "../../../kube/cache/reader.ts";
import { NotPermitted } from "../../../kube/cache/errors.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import { condition, Depot, freshNamespace, Gadget, type Scene } from "./harness.ts";
import { eventually } from "../../eventually.ts";
import {
  BOUND_MS,
  FAST,
  testPermissionsOf,
  rule,
  startAs,
  type Process,
  type TestPermissions,
  type Rule,
} from "./permissions.ts";

const READ = ["get", "list", "watch"];
const OURS = "machinery.example/ours";

/** Each Gadget has a ConfigMap of its name. */
const gadgets: Controller = defineController<Gadget>({
  name: "parked-gadget",
  for: Gadget,
  owns: [ConfigMap],
  reconcile: ({ metadata, spec }) => ({
    children: [
      {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: metadata.name, namespace: metadata.namespace },
        data: { text: spec.text ?? "" },
      },
    ],
  }),
});

/** Each Depot reports the number of Gadgets in the namespace that it names. */
const depots: Controller = defineController<Gadget>({
  name: "parked-depot",
  for: Depot,
  reads: [Gadget],
  reconcile: ({ spec }, { read }) => ({
    status: { gadgets: read.list(Gadget, { namespace: spec.target ?? "" }).length },
  }),
});

const machinery: Rule[] = [rule(Gadget.group, ["gadgets", "gadgets/status"])];
const configMaps: Rule = rule("", ["configmaps"]);

export function permissionRows(scene: Scene): void {
  describe("changing permissions", () => {
    const disposers: (() => Promise<unknown>)[] = [];
    let counter = 0;
    afterEach(async () => {
      for (const end of disposers.splice(0).reverse()) await end();
    });
    const newPermissions = (): TestPermissions => {
      const permissions = testPermissionsOf(
        scene.client,
        `worker-${process.pid}-${counter++}-${Date.now().toString(36)}`,
      );
      disposers.push(() => permissions.end());
      return permissions;
    };
    const begin = (...given: Parameters<typeof startAs>): Process => {
      const started = startAs(...given);
      disposers.push(() => started.stop());
      return started;
    };
    const make = (namespace: string, name: string, text = ""): Promise<Gadget> => {
      disposers.push(() => scene.client.delete(Gadget, { namespace, name }).catch(() => undefined));
      return scene.client.create(Gadget, { metadata: { name, namespace }, spec: { text } });
    };
    const ready = (namespace: string, name: string): Promise<unknown> =>
      eventually(async () => {
        const found = await scene.client.get(Gadget, { namespace, name });
        expect(condition(found)).toMatchObject({ status: "True", observedGeneration: found.metadata.generation });
      });
    const children = async (namespace: string): Promise<string[]> =>
      (await scene.client.list(ConfigMap, { namespace, labelSelector: "machinery.example/controller" })).items
        .map(({ metadata }) => metadata.name)
        .sort();
    const statusOf = (started: Process, resource: string) =>
      started.informers.status().find((one) => one.resource === resource);
    /** Waits for a condition and returns how long it took. */
    const timed = async (check: () => void): Promise<number> => {
      const begun = performance.now();
      await eventually(check, 20_000);
      return performance.now() - begun;
    };

    it("revoked: parked within the bound, no child deleted, no restart; granted: resumed, with the deletions of the meantime", async () => {
      const namespace = await freshNamespace(scene.client);
      const permissions = newPermissions();
      await permissions.grantClusterWide([...machinery, configMaps]);
      await make(namespace, "stays", "a");
      const started = begin(scene.endpoint, permissions.user, {}, [gadgets]);
      await started.run.synced;
      await ready(namespace, "stays");
      const foreign = await scene.client.create(ConfigMap, {
        metadata: { name: "foreign", namespace, labels: { "machinery.example/controller": "somebody" } },
      });
      const events: string[] = [];
      const { store } = started.informers.ensure(ConfigMap, { labelSelector: "machinery.example/controller" });
      await eventually(() => expect(store.find({ namespace, name: "foreign" })).toBeDefined());
      store.onChange(
        ({ type, object, ...change }) =>
          void events.push(`${type} ${object.metadata.name}${"evicted" in change && change.evicted ? " unseen" : ""}`),
      );

      await permissions.grantClusterWide(machinery);
      expect(
        await timed(() =>
          expect(statusOf(started, "configmaps")).toMatchObject({
            state: "parked",
            parkReason: "Forbidden",
            synced: false,
          }),
        ),
      ).toBeLessThan(BOUND_MS);
      expect(() => store.list()).toThrow(NotPermitted);
      await eventually(async () =>
        expect(condition(await scene.client.get(Gadget, { namespace, name: "stays" }))).toMatchObject({
          status: "False",
          reason: "PermissionMissing",
          message: expect.stringContaining("list and watch configmaps"),
        }),
      );
      await scene.client.delete(
        ConfigMap,
        { namespace, name: "foreign" },
        { preconditions: { uid: foreign.metadata.uid ?? "" } },
      );
      await scene.client.patch(Gadget, { namespace, name: "stays" }, { type: "merge", body: { spec: { text: "b" } } });
      await started.run.idle();
      expect(await children(namespace)).toEqual(["stays"]);
      expect(events).toEqual([]);

      await permissions.grantClusterWide([...machinery, configMaps]);
      await eventually(async () =>
        expect((await scene.client.get(ConfigMap, { namespace, name: "stays" })).data).toEqual({ text: "b" }),
      );
      await ready(namespace, "stays");
      expect(events).toContain("deleted foreign unseen");
    }, 60_000);

    it("parks while list is allowed and watch is forbidden", async () => {
      const permissions = newPermissions();
      await permissions.grantClusterWide([rule("", ["configmaps"], ["get", "list"])]);
      const started = begin(scene.endpoint, permissions.user);
      const { store } = started.informers.ensure(ConfigMap);
      await eventually(() => expect(store.parkReason).toBe("Forbidden"));
      expect(() => store.list()).toThrow(NotPermitted);
      const seen: boolean[] = [];
      store.onStateChange(() => seen.push(store.synced));
      const before = started.requests.length;
      await eventually(() => expect(started.requests.length).toBeGreaterThan(before + 3));
      // It asks for permission instead of sending forbidden lists.
      expect(started.requests.slice(before).every((request) => request.includes("selfsubjectaccessreviews"))).toBe(
        true,
      );
      expect(seen).toEqual([]);
      await permissions.grantClusterWide([rule("", ["configmaps"], READ)]);
      expect(await store.waitSynced(15_000)).toBe(true);
    }, 60_000);

    it("one namespace revoked: it is unreadable and reported, others continue; granted: it resumes", async () => {
      const [home, away] = [await freshNamespace(scene.client), await freshNamespace(scene.client)];
      const permissions = newPermissions();
      await permissions.grantClusterWide([
        rule("", ["namespaces"], READ),
        rule(Depot.group, ["depots", "depots/status"]),
      ]);
      await permissions.role([...machinery, configMaps]);
      for (const name of [home, away]) {
        await scene.client.patch(
          Namespace,
          { name },
          { type: "merge", body: { metadata: { labels: { [OURS]: permissions.user } } } },
        );
        await permissions.grantIn(name);
        await make(name, "first", "a");
      }
      const depot = `depot-${away}`;
      disposers.push(() => scene.client.delete(Depot, { name: depot }));
      await scene.client.create(Depot, { metadata: { name: depot }, spec: { target: away } });
      const started = begin(
        scene.endpoint,
        permissions.user,
        { namespaceScope: { labelSelector: `${OURS}=${permissions.user}` } },
        [gadgets, depots],
      );
      await started.run.synced;
      for (const name of [home, away]) await ready(name, "first");
      expect(statusOf(started, Gadget.plural + "." + Gadget.group)).toMatchObject({
        state: "watching",
        synced: true,
        namespaces: 2,
        notWatching: [],
      });

      await permissions.revokeIn(away);
      const parked = { notWatching: [{ namespace: away, state: "parked", parkReason: "Forbidden" }], synced: true };
      expect(
        await timed(() =>
          expect([statusOf(started, "gadgets.machinery.example"), statusOf(started, "configmaps")]).toMatchObject([
            parked,
            parked,
          ]),
        ),
      ).toBeLessThan(BOUND_MS);
      const store: Store<Gadget> = started.informers.store(Gadget);
      expect(() => store.list({ namespace: away })).toThrow(away);
      expect(() => store.list()).toThrow(NotPermitted);
      expect(store.list({ partial: true }).map(({ metadata }) => metadata.namespace)).toEqual([home]);
      const shown = async () => condition(await scene.client.get(Depot, { name: depot }));
      await eventually(async () =>
        expect(await shown()).toMatchObject({
          status: "False",
          reason: "PermissionMissing",
          message: expect.stringContaining(`gadgets.machinery.example in namespace ${away}`),
        }),
      );
      await make(home, "second", "b");
      await ready(home, "second");
      await scene.client.delete(Gadget, { namespace: away, name: "first" });
      await make(away, "third", "c");
      await started.run.idle();
      expect(await children(home)).toEqual(["first", "second"]);

      const deleted: string[] = [];
      store.onChange(
        ({ type, object }) =>
          void (type === "deleted" && deleted.push(`${object.metadata.namespace}/${object.metadata.name}`)),
      );
      await permissions.grantIn(away);
      await ready(away, "third");
      expect(deleted).toEqual([`${away}/first`]);
      await eventually(async () => expect(await shown()).toMatchObject({ status: "True" }));
      expect((await scene.client.get(Depot, { name: depot })).status).toMatchObject({ gadgets: 1 });

      await permissions.grantClusterWide([
        rule("", ["namespaces"], READ),
        ...machinery,
        rule(Depot.group, ["depots", "depots/status"]),
      ]);
      await eventually(() =>
        expect(statusOf(started, "gadgets.machinery.example")).toEqual({
          resource: "gadgets.machinery.example",
          state: "watching",
          synced: true,
        }),
      );
      expect(store.list().length).toBeGreaterThan(0);
    }, 90_000);

    it("Namespaces revoked: known namespaces stay watched; granted: deletions are emitted, and a namespace without the label is dropped", async () => {
      const [home, away] = [await freshNamespace(scene.client), await freshNamespace(scene.client)];
      const permissions = newPermissions();
      const namespaces = rule("", ["namespaces"], ["list", "watch"]);
      const label = (name: string, value: string | null) =>
        scene.client.patch(Namespace, { name }, { type: "merge", body: { metadata: { labels: { [OURS]: value } } } });
      await permissions.grantClusterWide([namespaces]);
      await permissions.role(machinery);
      for (const name of [home, away]) {
        await label(name, permissions.user);
        await permissions.grantIn(name);
        for (const gadget of ["stays", "goes"]) await make(name, gadget);
      }
      const started = begin(scene.endpoint, permissions.user, {
        namespaceScope: { labelSelector: `${OURS}=${permissions.user}` },
      });
      const { store } = started.informers.ensure(Gadget);
      await eventually(() => expect(store.synced && store.list()).toHaveLength(4), 20_000);
      const deleted: string[] = [];
      store.onChange(
        ({ type, object: { metadata } }) =>
          void (type === "deleted" && deleted.push(`${metadata.namespace}/${metadata.name}`)),
      );

      await permissions.grantClusterWide([]);
      await eventually(() => expect(statusOf(started, "namespaces")).toMatchObject({ state: "parked" }), 20_000);
      expect(store.list()).toHaveLength(4);
      await scene.client.delete(Gadget, { namespace: home, name: "goes" });
      await label(away, null);
      await permissions.grantClusterWide([namespaces]);
      await eventually(
        () =>
          expect(store.list().map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)).toEqual([
            `${home}/stays`,
          ]),
        20_000,
      );
      expect(deleted).toEqual([`${home}/goes`]);
    }, 60_000);

    it("a new binding that names us takes effect at once where bindings are watched", async () => {
      const permissions = newPermissions();
      const bindings = rule("rbac.authorization.k8s.io", ["clusterrolebindings"], READ);
      await permissions.grantClusterWide([bindings]);
      await permissions.role([rule("", ["configmaps"], READ)]);
      const never = {
        ...FAST,
        parked: { minMs: 600_000, maxMs: 600_000, jitter: 0 },
        watchSeconds: [300, 600] as const,
      };
      const started = begin(scene.endpoint, permissions.user, { timing: never });
      const watched = started.informers.ensure(ClusterRoleBinding);
      const { store } = started.informers.ensure(ConfigMap, { namespace: scene.ns });
      await eventually(() => expect(store.state).toBe("parked"));
      await eventually(() => expect(watched.store.state).toBe("watching"));
      const name = `${permissions.user}-more`;
      disposers.push(() => scene.client.delete(ClusterRoleBinding, { name }).catch(() => undefined));
      const bind = {
        metadata: { name },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: `${permissions.user}-some` },
        subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: permissions.user }],
      };
      await scene.client.create(ClusterRoleBinding, bind);
      expect(await store.waitSynced(15_000)).toBe(true);
      await scene.client.delete(ClusterRoleBinding, { name });
      await eventually(() => expect(store.parkReason).toBe("Forbidden"));
      // Another ensure retries it.
      await scene.client.create(ClusterRoleBinding, bind);
      started.informers.ensure(ConfigMap, { namespace: scene.ns });
      expect(await store.waitSynced(15_000)).toBe(true);
    }, 60_000);

    it("a watch of one object, with the right to that name alone, resumes after it was revoked", async () => {
      const name = `only-${counter++}`;
      await scene.client.create(ConfigMap, { metadata: { name, namespace: scene.ns } });
      disposers.push(() => scene.client.delete(ConfigMap, { namespace: scene.ns, name }));
      const permissions = newPermissions();
      await permissions.role([{ ...rule("", ["configmaps"], READ), resourceNames: [name] }]);
      await permissions.grantIn(scene.ns);
      const started = begin(scene.endpoint, permissions.user);
      const { store } = started.informers.ensure(ConfigMap, {
        namespace: scene.ns,
        fieldSelector: `metadata.name=${name}`,
      });
      await eventually(() => expect(store.find({ namespace: scene.ns, name })).toBeDefined());
      await permissions.revokeIn(scene.ns);
      await eventually(() => expect(store.parkReason).toBe("Forbidden"));
      await permissions.grantIn(scene.ns);
      await eventually(() => expect(store.state).toBe("watching"), 15_000);
    }, 60_000);

    it("a kind that is no longer served parks, and resumes when it is served again", async () => {
      const definition = { name: "widgets.machinery.example" };
      const Widget: ResourceRef = {
        group: "machinery.example",
        version: "v1",
        kind: "Widget",
        plural: "widgets",
        namespaced: true,
      };
      const free = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
      const install = (): Promise<unknown> =>
        scene.client.apply(
          CustomResourceDefinition,
          {
            metadata: definition,
            spec: {
              group: Widget.group,
              scope: "Namespaced",
              names: { plural: "widgets", kind: "Widget", singular: "widget", listKind: "WidgetList" },
              versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { ...free } } }],
            },
          },
          { fieldManager: "person", force: true },
        );
      const create = (name: string): Promise<KubeObject> =>
        eventually(() => scene.client.create(Widget, { metadata: { name, namespace: scene.ns } }));
      await install();
      disposers.push(() => scene.client.delete(CustomResourceDefinition, definition).catch(() => undefined));
      await create("old");
      const permissions = newPermissions();
      await permissions.grantClusterWide([
        rule("machinery.example", ["*"], READ),
        rule("apiextensions.k8s.io", ["customresourcedefinitions"], READ),
      ]);
      // Its own retries are too rare to explain the resumption.
      const started = begin(scene.endpoint, permissions.user, {
        timing: { ...FAST, parked: { minMs: 600_000, maxMs: 600_000, jitter: 0 } },
      });
      started.informers.ensure(CustomResourceDefinition, { metadata: true });
      const { store } = started.informers.ensure(Widget);
      const events: string[] = [];
      store.onChange(({ type, object }) => void events.push(`${type} ${object.metadata.name}`));
      expect(await store.waitSynced(15_000)).toBe(true);
      await scene.client.delete(CustomResourceDefinition, definition);
      await eventually(() => expect(store.parkReason).toBe("NoKind"), 30_000);
      expect(() => store.list()).toThrow(NotPermitted);
      await install();
      await create("new");
      await eventually(
        () => expect(store.synced && store.list().map(({ metadata }) => metadata.name)).toEqual(["new"]),
        30_000,
      );
      expect(events).toEqual(["added old", "deleted old", "added new"]);
    }, 90_000);
  });

  it("a metadata watch holds no content, and a view of a cluster-wide watch opens none", async () => {
    const namespace = await freshNamespace(scene.client);
    await scene.client.create(ConfigMap, {
      metadata: { name: "big", namespace, labels: { colour: "red" } },
      data: { big: "content" },
    });
    const started = startAs(scene.endpoint, "admin-of-views", {});
    const permissions = testPermissionsOf(scene.client, "admin-of-views");
    await permissions.grantClusterWide([rule("", ["configmaps"], READ)]);
    try {
      const slim = started.informers.ensure(ConfigMap, { namespace, metadata: true });
      expect(await slim.store.waitSynced(15_000)).toBe(true);
      expect(slim.store.get({ namespace, name: "big" })).toMatchObject({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { labels: { colour: "red" } },
      });
      expect(slim.store.get({ namespace, name: "big" }).data).toBeUndefined();
      await scene.client.patch(
        ConfigMap,
        { namespace, name: "big" },
        { type: "merge", body: { data: { more: "content" }, metadata: { labels: { shape: "round" } } } },
      );
      await eventually(() =>
        expect(slim.store.get({ namespace, name: "big" })).toMatchObject({
          kind: "ConfigMap",
          metadata: { labels: { shape: "round" } },
        }),
      );
      expect(slim.store.get({ namespace, name: "big" }).data).toBeUndefined();

      const whole = started.informers.ensure(ConfigMap);
      await whole.store.waitSynced(15_000);
      const before = started.informers.status().length;
      const red = started.informers.ensure(ConfigMap, { namespace, labelSelector: "colour=red" });
      expect(started.informers.status()).toHaveLength(before);
      const events: string[] = [];
      red.store.onChange(({ type }) => void events.push(type));
      expect(red.store.list().map(({ metadata }) => metadata.name)).toEqual(["big"]);
      await scene.client.patch(
        ConfigMap,
        { namespace, name: "big" },
        { type: "merge", body: { metadata: { labels: { colour: "blue" } } } },
      );
      await eventually(() => expect(red.store.list()).toEqual([]));
      await scene.client.patch(
        ConfigMap,
        { namespace, name: "big" },
        { type: "merge", body: { metadata: { labels: { colour: "red" } } } },
      );
      await eventually(() => expect(red.store.size).toBe(1));
      expect(events).toEqual(["deleted", "added"]);

      // The cluster-wide watch is forbidden, so the requested namespace gets its own.
      await permissions.role([rule("", ["configmaps"], READ)]);
      await permissions.grantIn(namespace);
      await permissions.grantClusterWide([]);
      await eventually(
        () =>
          expect(
            started.informers.status().find((one) => one.resource === "configmaps" && !one.namespace),
          ).toMatchObject({ namespaces: 1, notWatching: [] }),
        20_000,
      );
      expect(red.store.list().map(({ metadata }) => metadata.name)).toEqual(["big"]);
    } finally {
      await started.stop();
      await permissions.end();
    }
  }, 60_000);
}
