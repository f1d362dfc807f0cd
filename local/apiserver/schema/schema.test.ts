// Effects of a CRD's schema on objects: pruning, defaults, faults in the real server's words, rules.
import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../../kube/api/object.ts";
import type { JsonSchema } from "../types.ts";
import { compileSchema } from "./compile.ts";

function schemaOf(spec: JsonSchema, more: JsonSchema = {}): JsonSchema {
  return { type: "object", properties: { spec }, ...more };
}

function objectOf(spec: unknown): KubeObject {
  return { apiVersion: "example.org/v1", kind: "Thing", metadata: { name: "x", labels: { a: "b" } }, spec };
}

function faults(spec: JsonSchema, value: unknown, old?: unknown): string[] {
  const found = compileSchema(schemaOf(spec)).validate(objectOf(value), old === undefined ? undefined : objectOf(old));
  return found.map((fault) => `${fault.field}: ${fault.message}`);
}

const object = (properties: JsonSchema, more: JsonSchema = {}): JsonSchema => ({ type: "object", properties, ...more });
const text = { type: "string" };

describe("pruning", () => {
  it("takes out what the schema does not name, and says so", () => {
    const thing = objectOf({
      known: "a",
      unknown: 1,
      list: [{ k: "a", z: 1 }],
      map: { any: "x" },
      free: { a: { b: 1 }, typed: { x: 1 } },
      embedded: { apiVersion: "v1", kind: "X", metadata: { name: "y" }, q: 1 },
    });
    const schema = compileSchema(
      schemaOf(
        object({
          known: text,
          list: { type: "array", items: object({ k: text }) },
          map: { type: "object", additionalProperties: text },
          free: object({ typed: object({}) }, { "x-kubernetes-preserve-unknown-fields": true }),
          embedded: { type: "object", "x-kubernetes-embedded-resource": true },
        }),
      ),
    );
    expect(schema.prune(thing)).toEqual(["spec.embedded.q", "spec.free.typed.x", "spec.list[0].z", "spec.unknown"]);
    expect(thing).toEqual(
      objectOf({
        known: "a",
        list: [{ k: "a" }],
        map: { any: "x" },
        free: { a: { b: 1 }, typed: {} },
        embedded: { apiVersion: "v1", kind: "X", metadata: { name: "y" } },
      }),
    );
  });
  it("reads embedded objects that were applied as they will be stored: nothing is a name of null, a kind of null is at fault", () => {
    const schema = compileSchema(
      schemaOf(
        object({
          embedded: {
            type: "object",
            "x-kubernetes-embedded-resource": true,
            "x-kubernetes-preserve-unknown-fields": true,
          },
        }),
      ),
    );
    const thing = objectOf({ embedded: { apiVersion: null, metadata: { name: null, labels: { a: "b" } } } });
    schema.cleanApplied(thing);
    expect(thing).toEqual(objectOf({ embedded: { apiVersion: null, metadata: { labels: { a: "b" } } } }));
    expect(schema.validate(thing).map(({ field, message }) => `${field}: ${message}`)).toEqual([
      "spec.embedded.apiVersion: Invalid value: null: must be a string",
      "spec.embedded.kind: Required value",
    ]);
  });
  it("takes out nulls that may not be, unless a default takes their place", () => {
    const schema = compileSchema(
      schemaOf(object({ gone: text, kept: { ...text, nullable: true }, filled: { ...text, default: "d" } })),
    );
    const thing = objectOf({ gone: null, kept: null, filled: null });
    schema.prune(thing);
    schema.applyDefaults(thing);
    expect(thing["spec"]).toEqual({ kept: null, filled: "d" });
  });
  it("finds nulls that may not be in a copy", () => {
    const schema = compileSchema(
      schemaOf(
        object({
          any: { "x-kubernetes-preserve-unknown-fields": true },
          list: { type: "array", items: object({ k: text }) },
        }),
      ),
    );
    const thing = objectOf({ any: null, list: [{ k: null }] });
    expect(schema.withoutNulls(thing)["spec"]).toEqual({ list: [{}] });
    expect(thing["spec"]).toEqual({ any: null, list: [{ k: null }] });
    const good = objectOf({ any: { z: null } });
    expect(schema.withoutNulls(good)).toBe(good);
  });
});

describe("defaults", () => {
  it("are set from the root inwards, into list items too, and do not share state", () => {
    const schema = compileSchema(
      schemaOf(
        object({
          a: object({ b: { ...text, default: "x" } }, { default: {} }),
          list: { type: "array", items: object({ n: { type: "integer", default: 1 } }) },
          absent: object({ c: { ...text, default: "y" } }),
        }),
      ),
    );
    const first = objectOf({ list: [{}, { n: 2 }] });
    schema.applyDefaults(first);
    expect(first["spec"]).toEqual({ a: { b: "x" }, list: [{ n: 1 }, { n: 2 }] });
    const second = objectOf({});
    schema.applyDefaults(second);
    expect((first["spec"] as { a: unknown }).a).not.toBe((second["spec"] as { a: unknown }).a);
  });
  it("of a status come with the defaults inside them, and only where the status has one", () => {
    const status = object({ phase: { ...text, default: "New" } });
    const made = (more: JsonSchema) => {
      const thing = objectOf({});
      compileSchema(object({ status: { ...status, ...more } })).applyStatusDefault(thing);
      return thing.status;
    };
    expect(made({ default: { count: 0 } })).toEqual({ count: 0, phase: "New" });
    expect(made({})).toBeUndefined();
  });
});

describe("validation", () => {
  it.each<[string, JsonSchema, unknown, string[]]>([
    [
      "type",
      object({ s: text }),
      { s: 1 },
      ['spec.s: Invalid value: "integer": spec.s in body must be of type string: "integer"'],
    ],
    [
      "null",
      object({ s: text }),
      { s: null },
      ['spec.s: Invalid value: "null": spec.s in body must be of type string: "null"'],
    ],
    ["nullable", object({ s: { ...text, nullable: true } }), { s: null }, []],
    ["integer for a number", object({ n: { type: "number" } }), { n: 1 }, []],
    [
      "fraction for an integer",
      object({ n: { type: "integer" } }),
      { n: 1.5 },
      ['spec.n: Invalid value: "number": spec.n in body must be of type integer: "number"'],
    ],
    [
      "int or string",
      object({ p: { "x-kubernetes-int-or-string": true } }),
      { p: true },
      ['spec.p: Invalid value: "boolean": spec.p in body must be of type integer,string: "boolean"'],
    ],
    ["required", object({ s: text }, { required: ["s"] }), {}, ["spec.s: Required value"]],
    [
      "enum",
      object({ s: { ...text, enum: ["a", "b"] } }),
      { s: "x" },
      ['spec.s: Unsupported value: "x": supported values: "a", "b"'],
    ],
    [
      "maxLength",
      object({ s: { ...text, maxLength: 3 } }),
      { s: "abcd" },
      ["spec.s: Too long: may not be more than 3 bytes"],
    ],
    [
      "minLength",
      object({ s: { ...text, minLength: 1 } }),
      { s: "" },
      ['spec.s: Invalid value: "": spec.s in body should be at least 1 chars long'],
    ],
    [
      "pattern",
      object({ s: { ...text, pattern: "^a+$" } }),
      { s: "b" },
      [`spec.s: Invalid value: "b": spec.s in body should match '^a+$'`],
    ],
    [
      "maximum",
      object({ n: { type: "integer", maximum: 5 } }),
      { n: 6 },
      ["spec.n: Invalid value: 6: spec.n in body should be less than or equal to 5"],
    ],
    [
      "exclusive minimum",
      object({ n: { type: "integer", minimum: 0, exclusiveMinimum: true } }),
      { n: 0 },
      ["spec.n: Invalid value: 0: spec.n in body should be greater than 0"],
    ],
    [
      "maxItems",
      object({ l: { type: "array", items: text, maxItems: 1 } }),
      { l: ["a", "b"] },
      ["spec.l: Too many: 2: must have at most 1 item"],
    ],
    [
      "minItems",
      object({ l: { type: "array", items: text, minItems: 1 } }),
      { l: [] },
      ["spec.l: Invalid value: 0: spec.l in body should have at least 1 items"],
    ],
    [
      "item",
      object({ l: { type: "array", items: text } }),
      { l: [1] },
      ['spec.l[0]: Invalid value: "integer": spec.l[0] in body must be of type string: "integer"'],
    ],
    [
      "map value",
      object({ m: { type: "object", additionalProperties: text } }),
      { m: { k: 1 } },
      ['spec.m.k: Invalid value: "integer": spec.m.k in body must be of type string: "integer"'],
    ],
    [
      "format",
      object({ t: { ...text, format: "date-time" } }),
      { t: "soon" },
      ['spec.t: Invalid value: "soon": spec.t in body must be of type date-time: "soon"'],
    ],
    ["unknown format", object({ t: { ...text, format: "nonsense" } }), { t: "soon" }, []],
    [
      "set",
      object({ l: { type: "array", items: text, "x-kubernetes-list-type": "set" } }),
      { l: ["a", "b", "a"] },
      ['spec.l[2]: Duplicate value: "a"'],
    ],
    [
      "map list",
      object({
        l: {
          type: "array",
          items: object({ k: text }),
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["k"],
        },
      }),
      { l: [{ k: "a" }, { k: "a" }] },
      ['spec.l[1]: Duplicate value: {"k":"a"}'],
    ],
    [
      "oneOf",
      object({ a: text, b: text }, { oneOf: [{ required: ["a"] }, { required: ["b"] }] }),
      { a: "1", b: "2" },
      ['<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found 2 valid alternatives'],
    ],
    [
      "anyOf",
      object({ n: { anyOf: [{ type: "integer" }, { type: "string" }], "x-kubernetes-int-or-string": true } }),
      { n: 1 },
      [],
    ],
    [
      "not",
      object({ a: text }, { not: { required: ["a"] } }),
      { a: "1" },
      ['<nil>: Invalid value: "": "spec" must not validate the schema (not)'],
    ],
    [
      "all good",
      object({ s: text, n: { type: "integer" }, b: { type: "boolean" }, l: { type: "array", items: text } }),
      { s: "a", n: 1, b: true, l: ["x"] },
      [],
    ],
  ])("%s", (_name, spec, value, expected) => {
    expect(faults(spec, value)).toEqual(expected);
  });
  it("lets pass what was at fault before and did not change", () => {
    const spec = object({
      s: { ...text, maxLength: 1 },
      n: { type: "integer" },
      l: { type: "array", items: text, "x-kubernetes-list-type": "set" },
    });
    expect(faults(spec, { s: "long", n: 2 }, { s: "long", n: 1 })).toEqual([]);
    expect(faults(spec, { s: "other" }, { s: "long" })).toHaveLength(1);
    expect(faults(spec, { l: ["a", "a"], n: 1 }, { l: ["a", "a"] })).toEqual([]);
  });
});

const rules = (...list: object[]): JsonSchema => ({ "x-kubernetes-validations": list });

describe("rules", () => {
  it.each<[string, JsonSchema, unknown, unknown, string[]]>([
    ["holds", object({ a: { type: "integer" } }, rules({ rule: "self.a > 0" })), { a: 1 }, undefined, []],
    [
      "fails, by its own text",
      object({ a: { type: "integer" } }, rules({ rule: "self.a > 0" })),
      { a: 0 },
      undefined,
      ['spec: Invalid value: "object": failed rule: self.a > 0'],
    ],
    [
      "fails, by its message",
      object({ a: { type: "integer", ...rules({ rule: "self > 0", message: "must be positive" }) } }),
      { a: 0 },
      undefined,
      ['spec.a: Invalid value: "integer": must be positive'],
    ],
    [
      "message expression",
      object({
        a: {
          type: "integer",
          ...rules({ rule: "self > 0", messageExpression: "'%d is not positive'.format([self])" }),
        },
      }),
      { a: 0 },
      undefined,
      ['spec.a: Invalid value: "integer": 0 is not positive'],
    ],
    [
      "broken message expression",
      object({
        a: { type: "integer", ...rules({ rule: "self > 0", message: "m", messageExpression: "string(1 / self)" }) },
      }),
      { a: 0 },
      undefined,
      ['spec.a: Invalid value: "integer": m'],
    ],
    [
      "reason and field",
      object(
        { a: text, b: text },
        rules({ rule: "has(self.b)", message: "b please", reason: "FieldValueRequired", fieldPath: ".b" }),
      ),
      { a: "1" },
      undefined,
      ["spec.b: Required value: b please"],
    ],
    [
      "forbidden",
      object({ a: text }, rules({ rule: "!has(self.a)", message: "not a", reason: "FieldValueForbidden" })),
      { a: "1" },
      undefined,
      ["spec: Forbidden: not a"],
    ],
    [
      "error in evaluation",
      object({ a: { type: "integer" } }, rules({ rule: "1 / self.a > 0" })),
      { a: 0 },
      undefined,
      ['spec: Invalid value: "object": division by zero evaluating rule: 1 / self.a > 0'],
    ],
    [
      "transition not on create",
      object({ a: { ...text, ...rules({ rule: "self == oldSelf" }) } }),
      { a: "1" },
      undefined,
      [],
    ],
    [
      "transition",
      object({ a: { ...text, ...rules({ rule: "self == oldSelf", message: "immutable" }) } }),
      { a: "2" },
      { a: "1" },
      ['spec.a: Invalid value: "string": immutable'],
    ],
    [
      "field added is no transition",
      object({ a: { ...text, ...rules({ rule: "self == oldSelf" }) } }),
      { a: "2" },
      {},
      [],
    ],
    [
      "immutable optional on the parent",
      object(
        { a: text },
        rules({ rule: "has(self.a) == has(oldSelf.a) && (!has(self.a) || self.a == oldSelf.a)", message: "immutable" }),
      ),
      { a: "2" },
      {},
      ['spec: Invalid value: "object": immutable'],
    ],
    [
      "optional oldSelf on create",
      object({ a: { ...text, ...rules({ rule: "oldSelf.hasValue() || self == 'first'", optionalOldSelf: true }) } }),
      { a: "x" },
      undefined,
      [`spec.a: Invalid value: "string": failed rule: oldSelf.hasValue() || self == 'first'`],
    ],
    [
      "map list items keep their past",
      object({
        l: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["k"],
          items: object({ k: text, v: text }, rules({ rule: "self.v == oldSelf.v", message: "fixed" })),
        },
      }),
      {
        l: [
          { k: "b", v: "1" },
          { k: "a", v: "2" },
        ],
      },
      {
        l: [
          { k: "a", v: "1" },
          { k: "b", v: "1" },
        ],
      },
      ['spec.l[1]: Invalid value: "object": fixed'],
    ],
    [
      "escaped names",
      object({ "a-b": text, namespace: text }, rules({ rule: "self.a__dash__b == self.__namespace__" })),
      { "a-b": "1", namespace: "2" },
      undefined,
      ['spec: Invalid value: "object": failed rule: self.a__dash__b == self.__namespace__'],
    ],
    [
      "number fields are doubles",
      object({ n: { type: "number" } }, rules({ rule: "self.n * 2.0 < 5.0" })),
      { n: 2 },
      undefined,
      [],
    ],
    [
      "durations",
      object({ d: { ...text, format: "duration" } }, rules({ rule: "self.d < duration('1h')" })),
      { d: "2h" },
      undefined,
      [`spec: Invalid value: "object": failed rule: self.d < duration('1h')`],
    ],
    [
      "map keys",
      object({ m: { type: "object", additionalProperties: { type: "integer", ...rules({ rule: "self > 0" }) } } }),
      { m: { k: 0 } },
      undefined,
      ['spec.m[k]: Invalid value: "integer": failed rule: self > 0'],
    ],
    [
      "rules wait for types",
      object({ a: { type: "integer" } }, rules({ rule: "self.a > 0" })),
      { a: "x" },
      undefined,
      [
        'spec.a: Invalid value: "string": spec.a in body must be of type integer: "string"',
        "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
      ],
    ],
    [
      "unchanged fault passes",
      object({ a: { type: "integer", ...rules({ rule: "self > 0" }) }, b: text }),
      { a: 0, b: "y" },
      { a: 0, b: "x" },
      [],
    ],
  ])("%s", (...[, spec, value, old, expected]) => {
    expect(faults(spec, value, old)).toEqual(expected);
  });
  it("reach the object's name from the root", () => {
    const schema = compileSchema({
      type: "object",
      properties: { spec: object({}) },
      ...rules({ rule: "self.metadata.name.startsWith('y')", message: "name" }),
    });
    expect(schema.validate(objectOf({})).map((fault) => `${fault.field}: ${fault.message}`)).toEqual([
      '<nil>: Invalid value: "object": name',
    ]);
  });
});
