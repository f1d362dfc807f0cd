// Rows: deletion: finalizers, owners and their children, preconditions, collections, and the end of a namespace.
import { expect } from "vitest";
import type { Api, Json } from "../api.ts";
import { configMap, configMaps, row, widget, widgets, type Scene } from "../row.ts";

const options = (more: Json) => ({ apiVersion: "v1", kind: "DeleteOptions", ...more });
const ownedBy = (owner: Json, more: Json = {}) => ({
  ownerReferences: [
    { apiVersion: owner.apiVersion, kind: owner.kind, name: owner.metadata.name, uid: owner.metadata.uid, ...more },
  ],
});
const gone = async (api: Api, path: string) => expect((await api.get(path)).status).toBe(404);

async function family({ api, ns }: Scene, more: Json = {}): Promise<void> {
  const owner = (await api.post(widgets(ns), widget("owner"))).body;
  await api.post(configMaps(ns), configMap("child", {}, ownedBy(owner, more)));
}

export const deletionRows = [
  row("delete answers with a Status that names the object and removes it", async ({ api, ns }) => {
    const made = (await api.post(widgets(ns), widget("a"))).body;
    const { status, body } = await api.delete(`${widgets(ns)}/a`);
    expect([status, body]).toEqual([
      200,
      {
        kind: "Status",
        apiVersion: "v1",
        metadata: {},
        status: "Success",
        details: { name: "a", group: "conformance.example", kind: "widgets", uid: made.metadata.uid },
      },
    ]);
    await gone(api, `${widgets(ns)}/a`);
    expect((await api.delete(`${widgets(ns)}/a`)).status).toBe(404);
  }),
  row("an object exists until its last finalizer is removed", async ({ api, ns }) => {
    const made = (await api.post(widgets(ns), widget("a", {}, { finalizers: ["example.com/x"] }))).body;
    const { status, body } = await api.delete(`${widgets(ns)}/a`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      kind: "Widget",
      metadata: {
        uid: made.metadata.uid,
        deletionTimestamp: expect.any(String),
        deletionGracePeriodSeconds: 0,
        generation: 2,
      },
    });
    expect(
      (await api.patch("merge", `${widgets(ns)}/a`, { metadata: { finalizers: ["example.com/x", "example.com/y"] } }))
        .status,
    ).toBe(422);
    expect(
      (
        await api.patch("merge", `${widgets(ns)}/a`, {
          metadata: { deletionTimestamp: null, labels: { still: "writable" } },
        })
      ).body.metadata,
    ).toMatchObject({ deletionTimestamp: expect.any(String), labels: { still: "writable" } });
    expect((await api.patch("merge", `${widgets(ns)}/a`, { metadata: { finalizers: null } })).status).toBe(200);
    await gone(api, `${widgets(ns)}/a`);
  }),
  row("preconditions: the wrong uid or version deletes nothing", async ({ api, ns }) => {
    const made = (await api.post(widgets(ns), widget("a"))).body;
    expect(
      (
        await api.delete(
          `${widgets(ns)}/a`,
          options({ preconditions: { uid: "0d7b6bb8-4c62-4d52-9e8a-3b5c8e0b7a11" } }),
        )
      ).status,
    ).toBe(409);
    expect((await api.delete(`${widgets(ns)}/a`, options({ preconditions: { resourceVersion: "1" } }))).status).toBe(
      409,
    );
    expect(
      (
        await api.delete(
          `${widgets(ns)}/a`,
          options({ preconditions: { uid: made.metadata.uid, resourceVersion: made.metadata.resourceVersion } }),
        )
      ).status,
    ).toBe(200);
  }),
  row("background: the child is deleted after its owner", async (scene) => {
    await family(scene);
    expect(
      (await scene.api.delete(`${widgets(scene.ns)}/owner`, options({ propagationPolicy: "Background" }))).status,
    ).toBe(200);
    await gone(scene.api, `${widgets(scene.ns)}/owner`);
    await scene.eventually(() => gone(scene.api, `${configMaps(scene.ns)}/child`));
  }),
  row("foreground: the owner waits for the child that blocks it", async (scene) => {
    const { api, ns } = scene;
    await family(scene, { blockOwnerDeletion: true });
    await api.patch("merge", `${configMaps(ns)}/child`, { metadata: { finalizers: ["example.com/x"] } });
    const { body } = await api.delete(`${widgets(ns)}/owner`, options({ propagationPolicy: "Foreground" }));
    expect(body.metadata.finalizers).toEqual(["foregroundDeletion"]);
    await scene.eventually(async () =>
      expect((await api.get(`${configMaps(ns)}/child`)).body.metadata.deletionTimestamp).toBeDefined(),
    );
    expect((await api.get(`${widgets(ns)}/owner`)).status).toBe(200);
    await api.patch("merge", `${configMaps(ns)}/child`, { metadata: { finalizers: null } });
    await scene.eventually(() => gone(api, `${widgets(ns)}/owner`));
  }),
  row("orphan: the child stays and loses its reference", async (scene) => {
    const { api, ns } = scene;
    await family(scene);
    await api.delete(`${widgets(ns)}/owner`, options({ propagationPolicy: "Orphan" }));
    await scene.eventually(() => gone(api, `${widgets(ns)}/owner`));
    expect((await api.get(`${configMaps(ns)}/child`)).body.metadata.ownerReferences ?? []).toEqual([]);
  }),
  row("a child whose owner never existed is collected", async (scene) => {
    const owner = {
      apiVersion: "conformance.example/v1",
      kind: "Widget",
      metadata: { name: "never", uid: "0d7b6bb8-4c62-4d52-9e8a-3b5c8e0b7a11" },
    };
    await scene.api.post(configMaps(scene.ns), configMap("child", {}, ownedBy(owner)));
    await scene.eventually(() => gone(scene.api, `${configMaps(scene.ns)}/child`));
  }),
  row("a child of two owners stays while one of them exists", async (scene) => {
    const { api, ns } = scene;
    const one = (await api.post(widgets(ns), widget("one"))).body;
    const two = (await api.post(widgets(ns), widget("two"))).body;
    await api.post(
      configMaps(ns),
      configMap("child", {}, { ownerReferences: [...ownedBy(one).ownerReferences, ...ownedBy(two).ownerReferences] }),
    );
    await api.delete(`${widgets(ns)}/one`);
    await scene.eventually(async () =>
      expect((await api.get(`${configMaps(ns)}/child`)).body.metadata.ownerReferences).toHaveLength(1),
    );
    await api.delete(`${widgets(ns)}/two`);
    await scene.eventually(() => gone(api, `${configMaps(ns)}/child`));
  }),
  row("grandchildren are deleted too", async (scene) => {
    const { api, ns } = scene;
    await family(scene);
    const child = (await api.get(`${configMaps(ns)}/child`)).body;
    await api.post(
      configMaps(ns),
      configMap("grandchild", {}, ownedBy({ ...child, apiVersion: "v1", kind: "ConfigMap" })),
    );
    await api.delete(`${widgets(ns)}/owner`);
    await scene.eventually(() => gone(api, `${configMaps(ns)}/grandchild`));
  }),
  row("two controllers of one object are invalid", async ({ api, ns }) => {
    const reference = (name: string) => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      name,
      uid: `${name}7b6bb8-4c62-4d52-9e8a-3b5c8e0b7a11`,
      controller: true,
    });
    expect(
      (await api.post(configMaps(ns), configMap("child", {}, { ownerReferences: [reference("aa"), reference("bb")] })))
        .status,
    ).toBe(422);
  }),
  row("deletecollection deletes the selected objects", async ({ api, ns }) => {
    for (const name of ["a", "b", "c"])
      await api.post(widgets(ns), widget(name, {}, { labels: { go: name === "c" ? "no" : "yes" } }));
    const { status } = await api.delete(`${widgets(ns)}?labelSelector=go=yes`);
    expect(status).toBe(200);
    expect((await api.get(widgets(ns))).body.items.map((item: Json) => item.metadata.name)).toEqual(["c"]);
  }),
  row("a namespace empties itself, finalizers first, and refuses new objects meanwhile", async (scene) => {
    const { api, ns } = scene;
    await api.post(configMaps(ns), configMap("plain"));
    await api.post(widgets(ns), widget("held", {}, { finalizers: ["example.com/x"] }));
    const { body } = await api.delete(`/api/v1/namespaces/${ns}`);
    expect(body).toMatchObject({
      kind: "Namespace",
      status: { phase: "Terminating" },
      metadata: { deletionTimestamp: expect.any(String) },
    });
    const refused = await api.post(configMaps(ns), configMap("late"));
    expect([refused.status, refused.body.reason]).toEqual([403, "Forbidden"]);
    expect(refused.body.message).toContain(
      `unable to create new content in namespace ${ns} because it is being terminated`,
    );
    expect(refused.body.details.causes).toEqual([
      expect.objectContaining({ reason: "NamespaceTerminating", field: "metadata.namespace" }),
    ]);
    await scene.eventually(async () => {
      await gone(api, `${configMaps(ns)}/plain`);
      expect((await api.get(`${widgets(ns)}/held`)).body.metadata.deletionTimestamp).toBeDefined();
    });
    await scene.eventually(async () => {
      const { status } = (await api.get(`/api/v1/namespaces/${ns}`)).body;
      expect(status.conditions).toEqual(
        expect.arrayContaining([
          expect.objectContaining({
            type: "NamespaceFinalizersRemaining",
            status: "True",
            reason: "SomeFinalizersRemain",
            message: "Some content in the namespace has finalizers remaining: example.com/x in 1 resource instances",
          }),
          expect.objectContaining({
            type: "NamespaceContentRemaining",
            status: "True",
            reason: "SomeResourcesRemain",
            message: expect.stringMatching(/^Some resources are remaining: widgets\.\S+ has 1 resource instances$/),
          }),
        ]),
      );
    });
    await api.patch("merge", `${widgets(ns)}/held`, { metadata: { finalizers: null } });
    await scene.eventually(() => gone(api, `/api/v1/namespaces/${ns}`));
    expect((await api.get(`${widgets(ns)}/held`)).status).toBe(404);
  }),
  row("a namespace has its label, its finalizer and a phase from the start", async ({ api, ns }) => {
    const { body } = await api.get(`/api/v1/namespaces/${ns}`);
    expect(body).toMatchObject({
      metadata: { labels: { "kubernetes.io/metadata.name": ns } },
      spec: { finalizers: ["kubernetes"] },
      status: { phase: "Active" },
    });
    const relabelled = await api.patch("merge", `/api/v1/namespaces/${ns}`, {
      metadata: { labels: { "kubernetes.io/metadata.name": "other" } },
    });
    expect(relabelled.status === 422 || relabelled.body.metadata.labels["kubernetes.io/metadata.name"] === ns).toBe(
      true,
    );
  }),
  row("a second delete of an object with a finalizer changes at most its propagation policy", async ({ api, ns }) => {
    await api.post(widgets(ns), widget("a", {}, { finalizers: ["example.com/x"] }));
    const first = (
      await api.delete(`${widgets(ns)}/a`, options({ propagationPolicy: "Foreground", gracePeriodSeconds: 30 }))
    ).body.metadata;
    expect([first.finalizers, first.deletionGracePeriodSeconds]).toEqual([["example.com/x", "foregroundDeletion"], 0]);
    const second = (await api.delete(`${widgets(ns)}/a`, options({ propagationPolicy: "Background" }))).body.metadata;
    expect([second.finalizers, second.generation, second.deletionTimestamp]).toEqual([
      ["example.com/x"],
      first.generation,
      first.deletionTimestamp,
    ]);
    expect((await api.delete(`${widgets(ns)}/a`)).body.metadata.resourceVersion).toBe(second.resourceVersion);
    await api.patch("merge", `${widgets(ns)}/a`, { metadata: { finalizers: null } });
  }),
  row(
    "a child whose owner is in another namespace is collected; a cluster-scoped owner may have children anywhere",
    async ({ api, ns, unique, eventually }) => {
      const far = (await api.post(configMaps("default"), configMap(unique("far")))).body;
      await api.post(configMaps(ns), configMap("stray", {}, ownedBy(far)));
      const rbac = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
      const name = unique("owner");
      const owner = (
        await api.post(rbac, {
          apiVersion: "rbac.authorization.k8s.io/v1",
          kind: "ClusterRole",
          metadata: { name },
          rules: [],
        })
      ).body;
      await api.post(configMaps(ns), configMap("kept", {}, ownedBy(owner)));
      await eventually(() => gone(api, `${configMaps(ns)}/stray`));
      expect((await api.get(`${configMaps(ns)}/kept`)).status).toBe(200);
      await api.delete(`${rbac}/${name}`);
      await eventually(() => gone(api, `${configMaps(ns)}/kept`));
    },
  ),
];
