// Rows: server-side apply: who owns a field, who conflicts, what an omitted field means, and how lists merge.
import { expect } from "vitest";
import type { Answer, Api, Json } from "../api.ts";
import { configMap, configMaps, row, widget, widgets } from "../row.ts";

/** `manager` may carry more of the query: `two&force=true`. */
const apply = (api: Api, path: string, manager: string, body: Json): Promise<Answer> =>
  api.patch("apply", `${path}/${body.metadata.name}?fieldManager=${manager}`, body);
const owned = (body: Json, manager: string, subresource?: string): Json =>
  body.metadata.managedFields.find((entry: Json) => entry.manager === manager && entry.subresource === subresource)
    ?.fieldsV1;
const names = (list: Json[]): string[] => list.map((item) => item.name);

export const applyRows = [
  row("apply creates an object and records its manager's fields", async ({ api, ns }) => {
    const { status, body } = await apply(
      api,
      widgets(ns),
      "one",
      widget("a", { size: 3, ports: [{ name: "http" }], tags: ["x"], steps: ["s"] }, { labels: { l: "1" } }),
    );
    expect(status).toBe(201);
    expect(body.metadata.managedFields).toHaveLength(1);
    expect(body.metadata.managedFields[0]).toMatchObject({
      manager: "one",
      operation: "Apply",
      apiVersion: "conformance.example/v1",
      fieldsType: "FieldsV1",
      time: expect.any(String),
    });
    expect(owned(body, "one")).toEqual({
      "f:metadata": { "f:labels": { "f:l": {} } },
      "f:spec": {
        "f:size": {},
        "f:steps": {},
        "f:tags": { 'v:"x"': {} },
        "f:ports": { 'k:{"name":"http"}': { ".": {}, "f:name": {} } },
      },
    });
    expect(body.spec.ports).toEqual([{ name: "http", port: 80, protocol: "TCP" }]);
  }),
  row("repeating an apply writes nothing", async ({ api, ns }) => {
    const first = (await apply(api, widgets(ns), "one", widget("a", { size: 3, nested: { level: 1 } }))).body;
    const again = await apply(api, widgets(ns), "one", widget("a", { size: 3, nested: { level: 1 } }));
    expect([again.status, again.body.metadata.resourceVersion, again.body.metadata.managedFields]).toEqual([
      200,
      first.metadata.resourceVersion,
      first.metadata.managedFields,
    ]);
  }),
  row("another manager's value is a conflict that names manager and field", async ({ api, ns }) => {
    await apply(api, widgets(ns), "one", widget("a", { size: 3 }));
    const { status, body } = await apply(api, widgets(ns), "two", widget("a", { size: 4 }));
    expect([status, body.reason]).toEqual([409, "Conflict"]);
    expect(body.message).toBe('Apply failed with 1 conflict: conflict with "one": .spec.size');
    expect(body.details.causes).toEqual([
      { reason: "FieldManagerConflict", message: 'conflict with "one"', field: ".spec.size" },
    ]);
    expect((await api.get(`${widgets(ns)}/a`)).body.spec.size).toBe(3);
  }),
  row("force takes the field over", async ({ api, ns }) => {
    await apply(api, widgets(ns), "one", widget("a", { size: 3, color: "red" }));
    const { body } = await apply(api, widgets(ns), "two&force=true", widget("a", { size: 4 }));
    expect(body.spec).toMatchObject({ size: 4, color: "red" });
    expect(owned(body, "one")).toEqual({ "f:spec": { "f:color": {} } });
    expect(owned(body, "two")).toEqual({ "f:spec": { "f:size": {} } });
  }),
  row("two managers that apply the same value share it; it stays until both omit it", async ({ api, ns }) => {
    await apply(api, widgets(ns), "one", widget("a", { color: "red" }));
    expect((await apply(api, widgets(ns), "two", widget("a", { color: "red" }))).status).toBe(200);
    expect((await apply(api, widgets(ns), "one", widget("a", {}))).body.spec.color).toBe("red");
    expect((await apply(api, widgets(ns), "two", widget("a", {}))).body.spec).not.toHaveProperty("color");
  }),
  row("an omitted field is removed, or returns to its default", async ({ api, ns }) => {
    await apply(
      api,
      widgets(ns),
      "one",
      widget(
        "a",
        { size: 3, color: "red", options: { a: "1", b: "2" } },
        { labels: { l: "1" }, annotations: { n: "1" } },
      ),
    );
    const { body } = await apply(api, widgets(ns), "one", widget("a", { options: { a: "1" } }, { labels: {} }));
    expect(body.spec).toMatchObject({ size: 1, options: { a: "1" } });
    expect(body.spec).not.toHaveProperty("color");
    expect(body.spec.options).not.toHaveProperty("b");
    expect(body.metadata.labels).toBeUndefined();
    expect(body.metadata.annotations).toBeUndefined();
  }),
  row("a default is owned by nobody, so anyone may apply over it", async ({ api, ns }) => {
    await apply(api, widgets(ns), "one", widget("a", { color: "red" }));
    const { status, body } = await apply(api, widgets(ns), "two", widget("a", { size: 9 }));
    expect([status, body.spec.size]).toEqual([200, 9]);
  }),
  row("a plain create owns its defaults too, so apply over them conflicts", async ({ api, ns }) => {
    await api.post(`${widgets(ns)}?fieldManager=creator`, widget("a", {}));
    const { status, body } = await apply(api, widgets(ns), "two", widget("a", { size: 9 }));
    expect([status, body.message]).toEqual([
      409,
      expect.stringContaining('conflict with "creator" using conformance.example/v1'),
    ]);
  }),
  row("a list map merges by key, a set by value, an atomic list as a whole", async ({ api, ns }) => {
    await apply(
      api,
      widgets(ns),
      "one",
      widget("a", { ports: [{ name: "http", port: 1 }], tags: ["x"], steps: ["s"] }),
    );
    const merged = (
      await apply(api, widgets(ns), "two", widget("a", { ports: [{ name: "admin", port: 2 }], tags: ["y"] }))
    ).body;
    expect(names(merged.spec.ports).sort()).toEqual(["admin", "http"]);
    expect([...merged.spec.tags].sort()).toEqual(["x", "y"]);
    expect((await apply(api, widgets(ns), "two", widget("a", { steps: ["t"] }))).body.message).toBe(
      'Apply failed with 1 conflict: conflict with "one": .spec.steps',
    );
    const left = (await apply(api, widgets(ns), "one", widget("a", { steps: ["s"] }))).body;
    expect([names(left.spec.ports), left.spec.tags]).toEqual([["admin"], ["y"]]);
    const clash = await apply(api, widgets(ns), "one", widget("a", { ports: [{ name: "admin", port: 3 }] }));
    expect(clash.body.details.causes[0].field).toBe('.spec.ports[name="admin"].port');
  }),
  row("several conflicts are one answer, managers in order", async ({ api, ns }) => {
    await apply(api, widgets(ns), "one", widget("a", { size: 3, color: "red" }));
    const { body } = await apply(api, widgets(ns), "two", widget("a", { size: 4, color: "green" }));
    expect(body.message).toBe('Apply failed with 2 conflicts: conflicts with "one":\n- .spec.color\n- .spec.size');
  }),
  row("a merge patch and an update own what they change", async ({ api, ns }) => {
    await apply(api, widgets(ns), "one", widget("a", { size: 3, color: "red" }));
    const patched = (await api.patch("merge", `${widgets(ns)}/a?fieldManager=patcher`, { spec: { size: 5 } })).body;
    expect(owned(patched, "one")).toEqual({ "f:spec": { "f:color": {} } });
    expect(owned(patched, "patcher")).toEqual({ "f:spec": { "f:size": {} } });
    expect(patched.metadata.managedFields.find((entry: Json) => entry.manager === "patcher").operation).toBe("Update");
    const { status, body } = await apply(api, widgets(ns), "one", widget("a", { size: 3, color: "red" }));
    expect([status, body.message]).toEqual([
      409,
      expect.stringContaining('conflict with "patcher" using conformance.example/v1'),
    ]);
  }),
  row("status has its own entry, and neither side touches the other", async ({ api, ns }) => {
    await apply(api, widgets(ns), "one", widget("a", { size: 3 }));
    const status = {
      apiVersion: "conformance.example/v1",
      kind: "Widget",
      metadata: { name: "a" },
      status: { replicas: 2, conditions: [{ type: "Ready", status: "True" }] },
      spec: { size: 99 },
    };
    const applied = await api.patch("apply", `${widgets(ns)}/a/status?fieldManager=controller&force=true`, status);
    expect([applied.status, applied.body.spec.size, applied.body.status.replicas]).toEqual([200, 3, 2]);
    expect(owned(applied.body, "controller", "status")).toEqual({
      "f:status": {
        "f:replicas": {},
        "f:conditions": { 'k:{"type":"Ready"}': { ".": {}, "f:status": {}, "f:type": {} } },
      },
    });
    const main = await apply(api, widgets(ns), "one", { ...widget("a", { size: 4 }), status: { replicas: 7 } });
    expect([main.body.spec.size, main.body.status.replicas]).toEqual([4, 2]);
  }),
  row("apply needs a manager, a body without managedFields, and the name of the path", async ({ api, ns }) => {
    expect((await api.patch("apply", `${widgets(ns)}/a`, widget("a"))).status).toBe(422);
    const withFields = await apply(api, widgets(ns), "one", widget("a", {}, { managedFields: [{ manager: "x" }] }));
    expect([withFields.status, withFields.body.message]).toEqual([
      400,
      expect.stringContaining("metadata.managedFields must be nil"),
    ]);
    expect((await api.patch("apply", `${widgets(ns)}/a?fieldManager=one`, widget("b"))).status).toBe(400);
  }),
  row("apply with a uid creates nothing", async ({ api, ns }) => {
    const { status } = await apply(
      api,
      widgets(ns),
      "one",
      widget("a", {}, { uid: "0d7b6bb8-4c62-4d52-9e8a-3b5c8e0b7a11" }),
    );
    expect(status).toBe(409);
  }),
  row("apply with an old version is a conflict", async ({ api, ns }) => {
    const first = (await apply(api, widgets(ns), "one", widget("a", { size: 3 }))).body;
    await apply(api, widgets(ns), "one", widget("a", { size: 4 }));
    const { status, body } = await apply(
      api,
      widgets(ns),
      "one",
      widget("a", { size: 5 }, { resourceVersion: first.metadata.resourceVersion }),
    );
    expect([status, body.reason]).toEqual([409, "Conflict"]);
    expect(body.message).toContain("the object has been modified");
  }),
  row("apply of an invalid object changes nothing, nor does its dry run", async ({ api, ns }) => {
    const first = (await apply(api, widgets(ns), "one", widget("a", { size: 3 }))).body;
    expect((await apply(api, widgets(ns), "one", widget("a", { size: -1 }))).status).toBe(422);
    expect((await apply(api, widgets(ns), "one&dryRun=All", widget("a", { size: 8 }))).body.spec.size).toBe(8);
    expect((await api.get(`${widgets(ns)}/a`)).body.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
  }),
  row("apply of a wrong type or an unknown field", async ({ api, ns }) => {
    expect(
      (await apply(api, widgets(ns), "one", widget("a", { ports: [{ name: "x" }, { name: "x" }] }))).status,
    ).toBeGreaterThanOrEqual(400);
    const unknown = await apply(api, widgets(ns), "one&fieldValidation=Strict", widget("b", { sise: 1 }));
    expect([unknown.status, unknown.text.includes("sise")]).toEqual([expect.any(Number), true]);
    expect(unknown.status).toBeGreaterThanOrEqual(400);
  }),
  row("apply to a ConfigMap: keys of data are owned one by one", async ({ api, ns }) => {
    await apply(api, configMaps(ns), "one", configMap("a", { x: "1" }));
    const { body } = await apply(api, configMaps(ns), "two", configMap("a", { y: "2" }));
    expect(body.data).toEqual({ x: "1", y: "2" });
    expect((await apply(api, configMaps(ns), "one", configMap("a", {}))).body.data).toEqual({ y: "2" });
  }),
  row("apply merges a Service's ports by their key", async ({ api, ns }) => {
    const services = `/api/v1/namespaces/${ns}/services`;
    const service = (ports: Json[]) => ({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "s" },
      spec: { ports, selector: { a: "b" } },
    });
    await apply(api, services, "one", service([{ name: "http", port: 80, protocol: "TCP" }]));
    const { status, body } = await apply(
      api,
      services,
      "two",
      service([{ name: "https", port: 443, protocol: "TCP" }]),
    );
    expect([status, names(body.spec?.ports ?? []).sort()]).toEqual([200, ["http", "https"]]);
  }),
  row("an owner reference and a finalizer are added beside others'", async ({ api, ns }) => {
    await apply(api, widgets(ns), "one", widget("a", {}, { finalizers: ["example.com/one"] }));
    const { body } = await apply(api, widgets(ns), "two", widget("a", {}, { finalizers: ["example.com/two"] }));
    expect([...body.metadata.finalizers].sort()).toEqual(["example.com/one", "example.com/two"]);
    await api.patch("merge", `${widgets(ns)}/a`, { metadata: { finalizers: null } });
  }),
  row("twenty concurrent applies of disjoint fields all take effect", async ({ api, ns }) => {
    await api.post(widgets(ns), widget("a"));
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        apply(api, widgets(ns), `m${i}`, widget("a", { options: { [`k${i}`]: "v" } })),
      ),
    );
    expect(answers.filter((answer) => answer.status !== 200).map((answer) => answer.text)).toEqual([]);
    expect(Object.keys((await api.get(`${widgets(ns)}/a`)).body.spec.options)).toHaveLength(20);
  }),
];
