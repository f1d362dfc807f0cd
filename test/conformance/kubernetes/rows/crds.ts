// Rows: custom resource definitions: what a schema refuses, prunes and fills in, CEL rules, status and scale, and the life of a definition.
import { expect } from "vitest";
import type { Api, Json } from "../api.ts";
import { crd, row, widget, widgets, type Scene } from "../row.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const text = { type: "string", maxLength: 50 };

/** Installs a kind of the row's own, and waits until it is served. Returns the path of its objects and a maker of them. */
async function install(
  scene: Scene,
  spec: Json,
  more: { version?: Json; root?: Json } = {},
): Promise<{ path: string; make: (name: string, spec?: Json, rest?: Json) => Json; plural: string }> {
  const plural = scene.unique("kinds").replace("-", "");
  const kind = plural[0]!.toUpperCase() + plural.slice(1);
  const { status, text: answer } = await scene.api.post(definitions, crd(plural, kind, spec, more));
  expect(status, answer).toBe(201);
  const path = `/apis/conformance.example/v1/namespaces/${scene.ns}/${plural}`;
  await scene.eventually(async () => expect((await scene.api.get(path)).status).toBe(200));
  return {
    path,
    plural,
    make: (name, body, rest) => ({
      apiVersion: "conformance.example/v1",
      kind,
      metadata: { name },
      ...(body === undefined ? {} : { spec: body }),
      ...rest,
    }),
  };
}

const object = (properties: Json, more: Json = {}) => ({ type: "object", properties, ...more });
/** The root of a schema whose status has a default in a field, and `more` as a whole. */
const withStatus = (more: Json) => ({
  properties: {
    spec: object({ a: text }),
    status: object({ count: { type: "integer" }, phase: { ...text, default: "New" } }, more),
  },
});
const causes = (body: Json) => body.details.causes.map((cause: Json) => [cause.reason, cause.field]);

/** A spec that the Widget schema refuses, and the fault it must name. */
const refuses = (what: string, spec: Json, fault: [reason: string, field: string, message: string]) =>
  row(`refused: ${what}`, async ({ api, ns }) => {
    const { status, body } = await api.post(widgets(ns), widget("a", spec));
    expect([status, body.reason]).toEqual([422, "Invalid"]);
    expect(body.details).toMatchObject({ name: "a", group: "conformance.example", kind: "Widget" });
    expect(body.details.causes).toContainEqual({ reason: fault[0], field: fault[1], message: fault[2] });
    expect(body.message).toMatch(/^Widget\.conformance\.example "a" is invalid: /);
  });

async function refusedDefinition(api: Api, spec: Json): Promise<Json> {
  const { status, body } = await api.post(definitions, crd("refusedkinds", "RefusedKind", spec));
  expect([status, body.reason]).toEqual([422, "Invalid"]);
  return body;
}

const schemaRows = [
  refuses("a wrong type", { size: "big" }, [
    "FieldValueTypeInvalid",
    "spec.size",
    'Invalid value: "string": spec.size in body must be of type integer: "string"',
  ]),
  refuses("a number under its minimum", { size: -1 }, [
    "FieldValueInvalid",
    "spec.size",
    "Invalid value: -1: spec.size in body should be greater than or equal to 0",
  ]),
  refuses("a value outside its enum", { color: "pink" }, [
    "FieldValueNotSupported",
    "spec.color",
    'Unsupported value: "pink": supported values: "red", "green", "blue"',
  ]),
  refuses("a text that is too long", { note: "abcdefghijk" }, [
    "FieldValueTooLong",
    "spec.note",
    "Too long: may not be more than 10 bytes",
  ]),
  refuses("a text that does not match its pattern", { note: "ABC" }, [
    "FieldValueInvalid",
    "spec.note",
    "Invalid value: \"ABC\": spec.note in body should match '^[a-z ]*$'",
  ]),
  refuses("a missing required field in a list", { ports: [{ port: 1 }] }, [
    "FieldValueRequired",
    "spec.ports[0].name",
    "Required value",
  ]),
  refuses("a duplicate key in a map list", { ports: [{ name: "x" }, { name: "x" }] }, [
    "FieldValueDuplicate",
    "spec.ports[1]",
    'Duplicate value: {"name":"x"}',
  ]),
  refuses("a duplicate value in a set", { tags: ["x", "x"] }, [
    "FieldValueDuplicate",
    "spec.tags[1]",
    'Duplicate value: "x"',
  ]),
  refuses("a list that is too long", { steps: Array.from({ length: 11 }, () => "s") }, [
    "FieldValueTooMany",
    "spec.steps",
    "Too many: 11: must have at most 10 items",
  ]),
  refuses("a value that a CEL rule forbids, with the rule's message and reason", { color: "blue", size: 6 }, [
    "FieldValueForbidden",
    "spec",
    "Forbidden: blue needs size 10, this is nearly",
  ]),
];

export const crdRows = [
  ...schemaRows,
  row(
    "defaults are filled in, nested ones and those of list items too, and pruning takes unknown fields",
    async ({ api, ns }) => {
      const { body } = await api.post(widgets(ns), {
        ...widget("a", {
          ports: [{ name: "x", extra: 1 }],
          unknown: { deep: 1 },
          free: { anything: { goes: [1] } },
          target: "http",
        }),
        other: true,
      });
      expect(body.spec).toEqual({
        size: 1,
        replicas: 1,
        nested: { mode: "auto" },
        ports: [{ name: "x", port: 80, protocol: "TCP" }],
        free: { anything: { goes: [1] } },
        target: "http",
      });
      expect(body).not.toHaveProperty("other");
    },
  ),
  row("null becomes the default of a field, or is dropped where there is none", async ({ api, ns }) => {
    const { body } = await api.post(widgets(ns), widget("a", { size: null, color: null }));
    expect(body.spec.size).toBe(1);
    expect(body.spec).not.toHaveProperty("color");
  }),
  row("apply owns an untyped map, and a null in it leaves with the next apply", async (scene) => {
    const { path, make } = await install(scene, object({ any: { "x-kubernetes-preserve-unknown-fields": true } }));
    const apply = (any: Json) => scene.api.patch("apply", `${path}/a?fieldManager=one`, make("a", { any }));
    expect((await apply({ z: null })).body.spec).toEqual({ any: { z: null } });
    const emptied = (await apply({})).body;
    expect([emptied.spec ?? {}, emptied.metadata.generation]).toEqual([{}, 2]);
    const { body } = await scene.api.patch("merge", `${path}/a`, { metadata: { labels: { a: "b" } } });
    expect(body.metadata.generation).toBe(2);
    expect(body.metadata.managedFields[0]).toMatchObject({ manager: "one", fieldsV1: { "f:spec": { "f:any": {} } } });
  }),
  row("an immutable optional field: set, changed, added, removed", async ({ api, ns }) => {
    const with_ = (await api.post(widgets(ns), widget("with", { fixed: "x" }))).body;
    await api.post(widgets(ns), widget("without"));
    const tries: [string, Json][] = [
      ["with", { fixed: "y" }],
      ["with", { fixed: null }],
      ["without", { fixed: "x" }],
    ];
    for (const [name, spec] of tries) {
      const { status, body } = await api.patch("merge", `${widgets(ns)}/${name}`, { spec });
      expect([status, body.details?.causes]).toEqual([
        422,
        [{ reason: "FieldValueInvalid", message: expect.stringContaining("fixed cannot change"), field: "spec.fixed" }],
      ]);
    }
    expect(
      (await api.patch("merge", `${widgets(ns)}/with`, { spec: { size: 5, fixed: "x" } })).body.metadata.generation,
    ).toBe(with_.metadata.generation + 1);
  }),
  row("one answer reports several faults", async ({ api, ns }) => {
    const { body } = await api.post(widgets(ns), widget("a", { size: -1, color: "pink" }));
    // The third says that CEL rules did not run.
    expect(causes(body).sort()).toEqual([
      ["FieldValueInvalid", "<nil>"],
      ["FieldValueInvalid", "spec.size"],
      ["FieldValueNotSupported", "spec.color"],
    ]);
    expect(body.message).toContain(
      "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
    );
    expect(body.message).toContain("is invalid: [");
  }),
  row("an invalid old value may stay while another field changes", async (scene) => {
    const { path, plural, make } = await install(scene, object({ old: text, other: text }));
    await scene.api.post(path, make("a", { old: "too long by then" }));
    const tight = object({ old: { type: "string", maxLength: 3 }, other: text });
    expect(
      (
        await scene.api.patch("json", `${definitions}/${plural}.conformance.example`, [
          { op: "replace", path: "/spec/versions/0/schema/openAPIV3Schema/properties/spec", value: tight },
        ])
      ).status,
    ).toBe(200);
    await scene.eventually(async () =>
      expect((await scene.api.post(`${path}?dryRun=All`, make("b", { old: "long" }))).status).toBe(422),
    );
    expect((await scene.api.patch("merge", `${path}/a`, { spec: { other: "x" } })).status).toBe(200);
    expect((await scene.api.patch("merge", `${path}/a`, { spec: { old: "also too long" } })).status).toBe(422);
  }),
  row("status: the main path ignores it, its own path ignores the rest", async ({ api, ns }) => {
    const made = (await api.post(widgets(ns), { ...widget("a", { size: 2 }), status: { replicas: 5 } })).body;
    expect(made).not.toHaveProperty("status");
    const { status, body } = await api.put(`${widgets(ns)}/a/status`, {
      ...made,
      spec: { size: 9 },
      metadata: { ...made.metadata, labels: { x: "y" } },
      status: { replicas: 3 },
    });
    expect([status, body.spec.size, body.status.replicas, body.metadata.generation, body.metadata.labels]).toEqual([
      200,
      2,
      3,
      1,
      undefined,
    ]);
    const main = (await api.put(`${widgets(ns)}/a`, { ...body, spec: { size: 4 }, status: { replicas: 8 } })).body;
    expect([main.spec.size, main.status.replicas, main.metadata.generation]).toEqual([4, 3, 2]);
    expect((await api.patch("merge", `${widgets(ns)}/a/status`, { status: { replicas: "many" } })).status).toBe(422);
    expect((await api.get(`${widgets(ns)}/a/status`)).body.status).toEqual({ replicas: 3 });
  }),
  row("a status with a default has it from the create on, and again when it is taken away", async (scene) => {
    const { path, make } = await install(scene, object({}), { root: withStatus({ default: { count: 0 } }) });
    const fresh = { count: 0, phase: "New" };
    const sent = make("a", {}, { status: { count: 5, phase: "Done" } });
    const made = (await scene.api.post(path, sent)).body;
    expect([made.status, made.metadata.generation]).toEqual([fresh, 1]);
    expect(JSON.stringify(made.metadata.managedFields)).not.toContain("f:status");
    const applied = await scene.api.patch("apply", `${path}/b?fieldManager=one`, make("b", {}));
    expect(applied.body.status).toEqual(fresh);
    const listed = (await scene.api.get(path)).body.items;
    expect(listed.map(({ status }: Json) => status)).toEqual([fresh, fresh]);
    expect((await scene.api.patch("merge", `${path}/a/status`, { status: { count: 3 } })).body.status.count).toBe(3);
    expect((await scene.api.patch("merge", `${path}/a/status`, { status: null })).body.status).toEqual(fresh);
  }),
  row("a default that a definition gets later shows in objects stored before it", async (scene) => {
    const { path, plural, make } = await install(scene, object({}), { root: withStatus({}) });
    expect((await scene.api.post(path, make("a", {}))).body).not.toHaveProperty("status");
    const add = (field: string, value: Json) => ({
      op: "add",
      path: `/spec/versions/0/schema/openAPIV3Schema/properties/${field}`,
      value,
    });
    const changed = await scene.api.patch("json", `${definitions}/${plural}.conformance.example`, [
      add("status/default", { count: 0 }),
      add("spec/properties/a/default", "later"),
    ]);
    expect(changed.status).toBe(200);
    await scene.eventually(async () => {
      const { body } = await scene.api.get(`${path}/a`);
      expect([body.spec, body.status]).toEqual([{ a: "later" }, { count: 0, phase: "New" }]);
    });
  }),
  row("scale: read and write replicas through autoscaling/v1", async ({ api, ns }) => {
    await api.post(widgets(ns), widget("a"));
    await api.patch("merge", `${widgets(ns)}/a/status`, { status: { replicas: 1, selector: "app=a" } });
    const { body } = await api.get(`${widgets(ns)}/a/scale`);
    expect(body).toMatchObject({
      apiVersion: "autoscaling/v1",
      kind: "Scale",
      metadata: { name: "a", namespace: ns },
      spec: { replicas: 1 },
      status: { replicas: 1, selector: "app=a" },
    });
    expect((await api.put(`${widgets(ns)}/a/scale`, { ...body, spec: { replicas: 4 } })).body.spec.replicas).toBe(4);
    expect((await api.patch("merge", `${widgets(ns)}/a/scale`, { spec: { replicas: 6 } })).body.spec.replicas).toBe(6);
    expect((await api.get(`${widgets(ns)}/a`)).body).toMatchObject({
      spec: { replicas: 6 },
      metadata: { generation: 3 },
    });
    expect((await api.patch("merge", `${widgets(ns)}/a/scale`, { spec: { replicas: -1 } })).status).toBe(422);
  }),
  row("a rule of the root may use metadata.name", async (scene) => {
    const rule = {
      rule: "self.metadata.name.startsWith(self.spec.prefix)",
      message: "the name must begin with the prefix",
    };
    const { path, make } = await install(scene, object({ prefix: text }), {
      root: { required: ["spec"], "x-kubernetes-validations": [rule] },
    });
    expect((await scene.api.post(path, make("ab", { prefix: "a" }))).status).toBe(201);
    const { status, body } = await scene.api.post(path, make("xb", { prefix: "a" }));
    expect([status, body.details.causes[0].message]).toEqual([
      422,
      expect.stringContaining("the name must begin with the prefix"),
    ]);
    expect((await scene.api.post(path, make("nospec"))).body.details.causes[0]).toMatchObject({
      reason: "FieldValueRequired",
      field: "spec",
    });
  }),
  row("CEL: has, size, all, exists, matches, in, ternary, optional old value", async (scene) => {
    const list = { type: "array", maxItems: 5, items: text };
    const rules = [
      { rule: "self.names.all(n, n.matches('^[a-z]+$')) && size(self.names) <= 3", message: "names" },
      { rule: "!has(self.mode) || self.mode in ['x', 'y']", message: "mode" },
      { rule: "self.names.exists(n, n == 'must') ? true : !has(self.strict)", message: "strict" },
      { rule: "oldSelf.hasValue() ? true : self.names.size() > 0", message: "first", optionalOldSelf: true },
    ];
    const { path, make } = await install(
      scene,
      object({ names: list, mode: text, strict: text }, { required: ["names"], "x-kubernetes-validations": rules }),
    );
    const messages = async (spec: Json) =>
      ((await scene.api.post(`${path}?dryRun=All`, make("a", spec))).body.details?.causes ?? []).map((cause: Json) =>
        cause.message.split(": ").at(-1),
      );
    expect(await messages({ names: ["must"], mode: "x", strict: "s" })).toEqual([]);
    expect(await messages({ names: ["UP"], mode: "z", strict: "s" })).toEqual(["names", "mode", "strict"]);
    expect(await messages({ names: [] })).toEqual(["first"]);
  }),
  row("a definition reports its conditions and its accepted names", async (scene) => {
    const { plural } = await install(scene, object({ a: text }));
    const { body } = await scene.api.get(`${definitions}/${plural}.conformance.example`);
    expect(body.status.conditions).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ type: "NamesAccepted", status: "True" }),
        expect.objectContaining({ type: "Established", status: "True" }),
      ]),
    );
    expect([body.status.acceptedNames.plural, body.status.storedVersions]).toEqual([plural, ["v1"]]);
  }),
  row("deleting a definition deletes its objects", async (scene) => {
    const { path, plural, make } = await install(scene, object({ a: text }));
    await scene.api.post(path, make("a", {}));
    await scene.api.delete(`${definitions}/${plural}.conformance.example`);
    await scene.eventually(async () =>
      expect((await scene.api.get(`${definitions}/${plural}.conformance.example`)).status).toBe(404),
    );
    await scene.eventually(async () => expect((await scene.api.get(path)).status).toBe(404));
  }),
  row(
    "refused definitions: no type, a CEL rule that does not compile, one of unbounded cost, a bad name",
    async ({ api }) => {
      expect(causes(await refusedDefinition(api, object({ a: { description: "untyped" } })))).toContainEqual([
        "FieldValueRequired",
        expect.stringContaining("properties[spec].properties[a].type"),
      ]);
      const broken = await refusedDefinition(
        api,
        object({ a: text }, { "x-kubernetes-validations": [{ rule: "self.a ==", message: "m" }] }),
      );
      expect(broken.message).toContain("compilation failed");
      const unknown = await refusedDefinition(
        api,
        object({ a: text }, { "x-kubernetes-validations": [{ rule: "self.b == 'x'", message: "m" }] }),
      );
      expect(unknown.message).toContain("undefined field 'b'");
      const wrongName = crd("kinds", "Kind", object({}));
      expect(
        (await api.post(definitions, { ...wrongName, metadata: { name: "other.conformance.example" } })).status,
      ).toBe(422);
    },
  ),
  row("a cluster-scoped kind lives without a namespace", async ({ api, unique, eventually }) => {
    const plural = unique("globals").replace("-", "");
    const made = crd(plural, "Global" + plural.slice(7), object({ a: text }));
    made.spec.scope = "Cluster";
    expect((await api.post(definitions, made)).status).toBe(201);
    const path = `/apis/conformance.example/v1/${plural}`;
    await eventually(async () => expect((await api.get(path)).status).toBe(200));
    const { body } = await api.post(path, {
      apiVersion: "conformance.example/v1",
      kind: made.spec.names.kind,
      metadata: { name: "one" },
      spec: { a: "x" },
    });
    expect(body.metadata).not.toHaveProperty("namespace");
  }),
];
