// A kind that has what Widget has not: lists in lists, atomic lists and maps, defaults inside items, nulls, embedded objects, unknown fields, rules over them.
import type { Json } from "../kubernetes/api.ts";
import { crd } from "../kubernetes/row.ts";

const string = { type: "string", maxLength: 20 };
const integer = { type: "integer" };
const listMap = (keys: string[], properties: Json, required: string[]): Json => ({
  type: "array",
  maxItems: 8,
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": keys,
  items: { type: "object", required, properties },
});

export const gadgetCrd: Json = crd(
  "gadgets",
  "Gadget",
  {
    type: "object",
    required: ["mode"],
    properties: {
      mode: { ...string, enum: ["on", "off", "auto"], default: "auto" },
      groups: listMap(
        ["name"],
        {
          name: string,
          members: listMap(
            ["host", "port"],
            {
              host: string,
              port: { ...integer, default: 80 },
              weight: { ...integer, default: 1, minimum: 0, maximum: 100 },
              tags: { type: "array", maxItems: 5, "x-kubernetes-list-type": "set", items: string },
            },
            ["host"],
          ),
          limits: {
            type: "object",
            default: { soft: 1 },
            properties: { soft: integer, hard: { ...integer, default: 10 } },
          },
          note: { ...string, nullable: true },
        },
        ["name"],
      ),
      order: {
        type: "array",
        maxItems: 8,
        "x-kubernetes-list-type": "atomic",
        items: { type: "object", properties: { name: string, on: { type: "boolean", default: true } } },
      },
      matrix: { type: "array", maxItems: 4, items: { type: "array", maxItems: 4, items: integer } },
      selector: {
        type: "object",
        "x-kubernetes-map-type": "atomic",
        properties: { matchLabels: { type: "object", maxProperties: 5, additionalProperties: string }, kind: string },
      },
      byName: {
        type: "object",
        maxProperties: 5,
        additionalProperties: { type: "object", properties: { value: integer, unit: { ...string, default: "s" } } },
      },
      lists: {
        type: "object",
        maxProperties: 5,
        additionalProperties: { type: "array", maxItems: 5, "x-kubernetes-list-type": "set", items: integer },
      },
      maybe: { ...string, nullable: true },
      maybeDefault: { ...integer, nullable: true, default: 3 },
      maybeObject: { type: "object", nullable: true, properties: { a: string, b: { ...integer, default: 5 } } },
      template: {
        type: "object",
        "x-kubernetes-embedded-resource": true,
        "x-kubernetes-preserve-unknown-fields": true,
      },
      open: {
        type: "object",
        "x-kubernetes-preserve-unknown-fields": true,
        properties: { known: integer, inner: { type: "object", properties: { deep: string } } },
      },
      anything: { "x-kubernetes-preserve-unknown-fields": true },
      port: { "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer" }, { type: "string" }] },
      ratio: { type: "number", minimum: 0, maximum: 100, exclusiveMaximum: true },
      when: { type: "string", format: "date-time" },
      address: { type: "string", format: "ipv4" },
      choice: {
        type: "object",
        properties: { one: string, two: integer },
        oneOf: [{ required: ["one"] }, { required: ["two"] }],
      },
      count: { ...integer, default: 1 },
      flag: { type: "boolean", default: false },
      strictName: { ...string, pattern: "^[a-z]([-a-z0-9]*[a-z0-9])?$", minLength: 2 },
      once: string,
    },
    "x-kubernetes-validations": [
      {
        rule: "!has(self.groups) || self.groups.all(g, !has(g.members) || g.members.all(m, m.weight <= 50 || g.name != 'a'))",
        message: "members of a weigh at most 50",
      },
      {
        rule: "!has(oldSelf.once) || (has(self.once) && self.once == oldSelf.once)",
        message: "once set, it stays",
        fieldPath: ".once",
      },
      {
        rule: "self.mode != 'off' || !has(self.order) || size(self.order) == 0",
        message: "off has no order",
        reason: "FieldValueForbidden",
        fieldPath: ".order",
      },
      {
        rule: "!has(self.port) || type(self.port) == string || self.port > 0",
        messageExpression: "'port must be positive, not ' + (type(self.port) == int ? 'zero' : 'text')",
      },
    ],
  },
  {
    version: {
      subresources: { status: {}, scale: { specReplicasPath: ".spec.count", statusReplicasPath: ".status.count" } },
    },
    root: {
      extra: { type: "object", properties: { a: string, b: { ...integer, default: 2 } } },
      status: {
        type: "object",
        properties: {
          count: integer,
          phase: { ...string, default: "New" },
          conditions: listMap(
            ["type"],
            {
              type: string,
              status: { ...string, enum: ["True", "False"] },
              since: { type: "string", format: "date-time" },
            },
            ["type", "status"],
          ),
        },
      },
    },
  },
);
