// Which schemas a CRD may have.
import { describe, expect, it } from "vitest";
import type { JsonSchema } from "../types.ts";
import { checkSchema } from "./check.ts";

const text = { type: "string" };
const root = (properties: JsonSchema, more: JsonSchema = {}): JsonSchema => ({
  type: "object",
  properties: { spec: { type: "object", properties, ...more } },
});
const faults = (schema: JsonSchema) => checkSchema(schema, "s").map((fault) => `${fault.field}: ${fault.message}`);
const rule = (expression: string, more: object = {}): JsonSchema =>
  root(
    {
      a: text,
      n: { type: "integer" },
      l: { type: "array", items: { type: "object", properties: { k: text } } },
      m: { type: "object", additionalProperties: text },
    },
    { "x-kubernetes-validations": [{ rule: expression, ...more }] },
  );

describe("structure", () => {
  it.each<[string, JsonSchema, string[]]>([
    [
      "good",
      root({ a: text, p: { "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer" }, { type: "string" }] } }),
      [],
    ],
    ["no root type", { properties: {} }, ["s.type: Required value: must not be empty at the root"]],
    ["root no object", text, ['s.type: Invalid value: "string": must be object at the root']],
    [
      "no field type",
      root({ a: {} }),
      ["s.properties[spec].properties[a].type: Required value: must not be empty for specified object fields"],
    ],
    [
      "unknown type",
      root({ a: { type: "text" } }),
      [
        's.properties[spec].properties[a].type: Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", "string"',
      ],
    ],
    [
      "array without items",
      root({ a: { type: "array" } }),
      ["s.properties[spec].properties[a].items: Required value: must be specified"],
    ],
    [
      "type in anyOf",
      root({ a: { type: "string", anyOf: [{ type: "string" }] } }),
      ["s.properties[spec].properties[a].anyOf[0].type: Forbidden: must be empty to be structural"],
    ],
    [
      "map list without keys",
      root({ a: { type: "array", items: { type: "object" }, "x-kubernetes-list-type": "map" } }),
      [
        "s.properties[spec].properties[a].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
      ],
    ],
    [
      "bad default",
      root({ a: { type: "integer", default: "x" } }),
      ['s.properties[spec].properties[a].default: Invalid value: "string":  in body must be of type integer: "string"'],
    ],
    [
      "bad pattern",
      root({ a: { ...text, pattern: "(" } }),
      [expect.stringContaining("s.properties[spec].properties[a].pattern") as unknown as string],
    ],
    [
      "metadata beyond the name",
      { type: "object", properties: { metadata: { type: "object", properties: { labels: { type: "object" } } } } },
      [
        "s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified",
      ],
    ],
  ])("%s", (_name, schema, expected) => {
    expect(faults(schema)).toEqual(expected);
  });
});

describe("rules", () => {
  it.each([
    "self.a == 'x'",
    "has(self.a) && self.a.startsWith('x') ? self.n > 0 : true",
    "self.l.all(i, i.k != '')",
    "self.l.filter(i, i.k != '').map(i, i.k).exists(k, k == 'a')",
    "self.m.all(key, self.m[key] != '' && key.matches('^a'))",
    "!has(oldSelf.a) || self.a == oldSelf.a",
    "quantity('1').isLessThan(quantity(self.a))",
    "self.?a.orValue('') != ''",
    "self.m.transformList(key, value, key + value).all(one, one != '')",
    "type(self.n) == int",
    "self.a in ['x', dyn(1), null]",
    "(self.n > 0 ? dyn(1) : 'a') == 1 && [].all(x, x) && {'a': self.n}.all(k, k == 'a') && [self.l, []] != []",
    "[1, 2].map(x, string(x)).join(',') == self.a && ['a'].exists(x, x.startsWith(self.a))",
  ])("compiles: %s", (text) => {
    expect(faults(rule(text))).toEqual([]);
  });
  it.each([
    ["self.zzz == 1", "undefined field 'zzz'"],
    ["self.l.all(i, i.zzz == '')", "undefined field 'zzz'"],
    ["other == 1", "undeclared reference to 'other'"],
    ["nope(self.a)", "undeclared reference to 'nope'"],
    ["self.a.nope()", "undeclared reference to 'nope'"],
    ["cel.bind(x, self.a, x == x)", "undeclared reference to 'cel'"],
    ["self.l.filter(i, one, i > 0) == []", "undeclared reference to 'filter'"],
    ["self.a ==", "Syntax error"],
    ["self.a", "cel expression must evaluate to a bool"],
    ["self.a > 1", "found no matching overload for '_>_' applied to '(string, int)'"],
    ["self.a in ['x', 1]", "1:17: expected type 'string' but found 'int'"],
    ["{'a': 1, 'b': 'c'} == {}", "1:15: expected type 'int' but found 'string'"],
    ["{'a': 1, 2: 1} == {}", "1:10: expected type 'string' but found 'int'"],
    ["self.n > 0 && self.a", "1:19: expected type 'bool' but found 'string'"],
    ["(self.n > 0 ? 1 : 'a') == 1", "'_?_:_' applied to '(bool, int, string)'"],
    ["[1, 2].all(x, x == 'a')", "'_==_' applied to '(int, string)'"],
    ["self.n.x == 1", "type 'int' does not support field selection"],
  ])("does not: %s", (text, message) => {
    expect(faults(rule(text))).toEqual([expect.stringContaining(message)]);
  });
  it("checks where a fault is to be shown", () => {
    expect(faults(rule("true", { fieldPath: ".a" }))).toEqual([]);
    expect(faults(rule("true", { fieldPath: ".zzz" }))).toHaveLength(1);
    expect(faults(rule("true", { messageExpression: "1 +" }))).toHaveLength(1);
  });
});
