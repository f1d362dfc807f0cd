// Rows: admission webhooks: what a server asks them.
import { expect } from "vitest";
import type { Json } from "../api.ts";
import { group, row, widget, widgets } from "../row.ts";
import { allow, rule, trial, withHook } from "../webhook-configuration.ts";
import type { Respond } from "../webhook-server.ts";

/** A review's request, without the parts that differ from run to run. */
function withoutGenerated(request: Json): Json {
  const clean = (object: Json) => {
    if (!object) return object;
    const {
      uid,
      creationTimestamp,
      resourceVersion,
      managedFields: _fields,
      namespace: _namespace,
      ...metadata
    } = object.metadata;
    return {
      ...object,
      metadata: {
        ...metadata,
        ...(uid && { uid: "set" }),
        ...(resourceVersion && { resourceVersion: "set" }),
        created: Boolean(creationTimestamp),
      },
    };
  };
  const { uid: _uid, namespace: _namespace, userInfo: _user, ...rest } = request;
  return { ...rest, object: clean(request.object), oldObject: clean(request.oldObject) };
}

const gvk = { group, version: "v1", kind: "Widget" };
const gvr = { group, version: "v1", resource: "widgets" };
const about = { kind: gvk, resource: gvr, requestKind: gvk, requestResource: gvr, dryRun: false };

export const webhookRequestRows = [
  row("a create is reviewed with defaults: mutating webhooks see no uid yet, validating ones do", async (scene) => {
    const object = {
      apiVersion: `${group}/v1`,
      kind: "Widget",
      spec: { size: 2, replicas: 1, nested: { mode: "auto" } },
    };
    for (const kind of ["Mutating", "Validating"] as const) {
      await withHook(scene, allow, { kind }, async ({ server }) => {
        const name = kind.toLowerCase();
        await scene.api.post(`${widgets(scene.ns)}?fieldManager=tester`, widget(name, { size: 2 }));
        const system = kind === "Validating" ? { uid: "set", generation: 1, created: true } : { created: false };
        const [request] = server.requests;
        const wanted = { ...object, metadata: { name, ...system } };
        // Only the mutating ones see an object before its bookkeeping is complete.
        expect(
          withoutGenerated({
            ...request,
            object: {
              ...request.object,
              metadata: {
                ...request.object.metadata,
                generation: kind === "Validating" ? request.object.metadata.generation : undefined,
              },
            },
          }),
        ).toEqual({
          ...about,
          name,
          operation: "CREATE",
          object: {
            ...wanted,
            metadata: { ...wanted.metadata, ...(kind === "Mutating" && { generation: undefined }) },
          },
          oldObject: null,
          options: { kind: "CreateOptions", apiVersion: "meta.k8s.io/v1", fieldManager: "tester" },
        });
        expect([request.namespace, typeof request.uid]).toEqual([scene.ns, "string"]);
      });
    }
  }),
  row("every patch is reviewed as an update with the old object", async (scene) => {
    const { api, ns } = scene;
    await api.post(widgets(ns), widget("a", { size: 2 }));
    await withHook(scene, allow, { hook: { rules: [rule({ operations: ["*"] })] } }, async ({ server }) => {
      // The last one counts: a server may begin with what it has cached and ask again.
      await api.patch("merge", `${widgets(ns)}/a`, { spec: { size: 3 } });
      const merged = server.requests.at(-1);
      await api.patch("apply", `${widgets(ns)}/a?fieldManager=tester&force=true`, widget("a", { size: 4 }));
      const applied = server.requests.at(-1);
      expect([
        merged.operation,
        merged.object.spec.size,
        merged.oldObject.spec.size,
        merged.object.metadata.generation,
      ]).toEqual(["UPDATE", 3, 2, 2]);
      expect([applied.operation, applied.object.spec.size, applied.oldObject.spec.size]).toEqual(["UPDATE", 4, 3]);
      expect([merged.options, applied.options.kind]).toEqual([
        { kind: "UpdateOptions", apiVersion: "meta.k8s.io/v1" },
        "UpdateOptions",
      ]);
      server.requests.length = 0;
      await api.patch("apply", `${widgets(ns)}/new?fieldManager=tester`, widget("new", { size: 4 }));
      expect([server.requests[0].operation, server.requests[0].options]).toEqual([
        "CREATE",
        { kind: "CreateOptions", apiVersion: "meta.k8s.io/v1", fieldManager: "tester" },
      ]);
    });
  }),
  row("a delete is reviewed with the old object only, a deletecollection once for each object", async (scene) => {
    const { api, ns } = scene;
    for (const name of ["a", "b", "c"]) await api.post(widgets(ns), widget(name));
    const respond: Respond = ({ operation, oldObject }) => ({
      allowed: operation !== "DELETE" || oldObject.metadata.name !== "c",
    });
    await withHook(scene, respond, { hook: { rules: [rule({ operations: ["*"] })] } }, async ({ server }) => {
      expect(
        (
          await api.delete(`${widgets(ns)}/a`, {
            apiVersion: "v1",
            kind: "DeleteOptions",
            propagationPolicy: "Background",
          })
        ).status,
      ).toBe(200);
      const [request] = server.requests;
      expect([request.operation, request.object, request.oldObject.metadata.name, request.options]).toEqual([
        "DELETE",
        null,
        "a",
        { kind: "DeleteOptions", apiVersion: "meta.k8s.io/v1", propagationPolicy: "Background" },
      ]);
      expect((await api.delete(`${widgets(ns)}/c`)).status).toBe(400);
      server.requests.length = 0;
      await api.delete(`${widgets(ns)}?labelSelector=!none`);
      // A deletecollection names no object; only the old object tells which one it is about.
      expect(server.requests.map((one: Json) => [one.operation, one.name, one.oldObject.metadata.name]).sort()).toEqual(
        [
          ["DELETE", undefined, "b"],
          ["DELETE", undefined, "c"],
        ],
      );
      expect((await api.get(widgets(ns))).body.items.map((item: Json) => item.metadata.name)).toEqual(["c"]);
    });
  }),
  row("a status update is reviewed only by webhooks that name the subresource", async (scene) => {
    const { api, ns } = scene;
    await api.post(widgets(ns), widget("a"));
    const inForce = async () =>
      expect((await api.patch("merge", `${widgets(ns)}/a/status?dryRun=All`, { status: { replicas: 1 } })).status).toBe(
        400,
      );
    await withHook(
      scene,
      () => ({ allowed: false }),
      { hook: { rules: [rule({ resources: ["widgets/status"] })] }, inForce },
      async ({ server }) => {
        expect((await api.patch("merge", `${widgets(ns)}/a`, { spec: { size: 3 } })).status).toBe(200);
        expect(server.requests).toEqual([]);
        await api.patch("merge", `${widgets(ns)}/a/status`, { status: { replicas: 1 } });
        expect(server.requests[0]).toMatchObject({
          subResource: "status",
          requestSubResource: "status",
          object: { status: { replicas: 1 } },
        });
      },
    );
  }),
  row("a change of scale is reviewed as a Scale", async (scene) => {
    const { api, ns } = scene;
    await api.post(widgets(ns), widget("a"));
    const inForce = async () =>
      expect((await api.patch("merge", `${widgets(ns)}/a/scale?dryRun=All`, { spec: { replicas: 9 } })).status).toBe(
        400,
      );
    const respond: Respond = ({ object }) => ({ allowed: object.spec.replicas < 9 });
    await withHook(
      scene,
      respond,
      { hook: { rules: [rule({ resources: ["widgets/scale"] })] }, inForce },
      async ({ server }) => {
        expect((await api.patch("merge", `${widgets(ns)}/a/scale`, { spec: { replicas: 3 } })).status).toBe(200);
        expect(server.requests[0]).toMatchObject({
          subResource: "scale",
          kind: { group: "autoscaling", version: "v1", kind: "Scale" },
          resource: gvr,
          object: { kind: "Scale", spec: { replicas: 3 } },
          oldObject: { kind: "Scale", spec: { replicas: 1 } },
        });
      },
    );
  }),
  row("a namespace is selected by its own labels", async (scene) => {
    const { api, unique } = scene;
    const mark = unique("mark");
    const namespace = (name: string, labels: Json) => ({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name, labels },
    });
    const inForce = async () =>
      expect((await api.post("/api/v1/namespaces?dryRun=All", namespace(mark, { mark }))).status).toBe(400);
    const hook = {
      namespaceSelector: { matchLabels: { mark } },
      rules: [rule({ apiGroups: [""], resources: ["namespaces"], operations: ["CREATE"] })],
    };
    await withHook(
      scene,
      () => ({ allowed: false }),
      { hook, inForce },
      async ({ server }) => {
        expect((await api.post("/api/v1/namespaces?dryRun=All", namespace(unique("other"), {}))).status).toBe(201);
        expect(server.requests).toEqual([]);
        await inForce();
        expect(withoutGenerated(server.requests[0])).toMatchObject({
          name: mark,
          kind: { group: "", version: "v1", kind: "Namespace" },
          object: { kind: "Namespace" },
          dryRun: true,
        });
      },
    );
  }),
  row("the review names the caller: user, groups, uid and extra", async (scene) => {
    const { api, ns } = scene;
    await withHook(scene, allow, {}, async ({ server }) => {
      await trial(
        api.as({ impersonate: "eve", groups: ["system:masters"], uid: "u-1", extra: { scopes: "view" } }),
        ns,
      );
      expect(server.requests[0].userInfo).toEqual({
        username: "eve",
        uid: "u-1",
        groups: ["system:masters", "system:authenticated"],
        extra: { scopes: ["view"] },
      });
    });
  }),
  row("mutating webhooks do not see a generated name", async (scene) => {
    const { api, ns } = scene;
    await withHook(scene, allow, { kind: "Mutating" }, async ({ server }) => {
      const { body } = await api.post(widgets(ns), {
        apiVersion: `${group}/v1`,
        kind: "Widget",
        metadata: { generateName: "gen-" },
        spec: {},
      });
      expect(body.metadata.name).toMatch(/^gen-/);
      expect([server.requests[0].name, server.requests[0].object.metadata.name]).toEqual([undefined, undefined]);
    });
  }),
];
