// Server-side apply, rule by rule. Each row was seen on a real kube-apiserver.
import { describe, expect, test } from "vitest";
import type { KubeObject } from "../../../kube/api/object.ts";
import { builtinView, viewOfSchema } from "../builtin/schemas.ts";
import type { StatusError } from "../status.ts";
import { applyConfiguration, trackUpdate } from "./managed.ts";
import type { TypeView } from "./type-view.ts";

const schema = {
  type: "object",
  properties: {
    apiVersion: { type: "string" },
    kind: { type: "string" },
    metadata: { allOf: [{ $ref: "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" }] },
    spec: {
      type: "object",
      properties: {
        color: { type: "string" },
        size: { type: "integer" },
        tags: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
        plain: { type: "array", items: { type: "string" } },
        ports: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["port"],
          items: { type: "object", properties: { port: { type: "integer" }, name: { type: "string" } } },
        },
        whole: {
          type: "object",
          "x-kubernetes-map-type": "atomic",
          properties: { a: { type: "string" }, b: { type: "string" } },
        },
      },
    },
  },
};
const view = viewOfSchema(schema);
const TIME = "2026-01-01T00:00:00Z";
const widget = (spec: unknown): KubeObject => ({ apiVersion: "x/v1", kind: "Widget", metadata: { name: "w" }, spec });
const request = (manager: string, of: TypeView = view) => ({
  view: of,
  manager,
  subresource: "",
  apiVersion: "x/v1",
  time: TIME,
  reset: [],
});
const apply = (live: KubeObject | undefined, manager: string, spec: unknown, force = false) =>
  applyConfiguration({ ...request(manager), force, gvk: "x/v1, Kind=Widget" }, live, widget(spec));
const owned = (object: KubeObject, manager: string) =>
  object.metadata.managedFields?.find((entry) => entry.manager === manager)?.fieldsV1;

function update(live: KubeObject, manager: string, spec: unknown): KubeObject {
  const next = structuredClone({ ...live, spec });
  trackUpdate(request(manager), live, next);
  return next;
}

describe("apply", () => {
  test("owns exactly what it says", () => {
    const object = apply(undefined, "a", {
      color: "red",
      ports: [{ port: 1, name: "x" }],
      tags: ["t"],
      plain: ["p"],
      whole: { a: "1" },
    });
    expect(owned(object, "a")).toEqual({
      "f:spec": {
        "f:color": {},
        "f:plain": {},
        "f:whole": {},
        "f:tags": { 'v:"t"': {} },
        "f:ports": { 'k:{"port":1}': { ".": {}, "f:name": {}, "f:port": {} } },
      },
    });
  });

  test("refuses another manager's value, naming each path; the same value is shared", () => {
    const live = apply(undefined, "a", { color: "red", ports: [{ port: 1, name: "x" }] });
    const refused = () => apply(live, "b", { color: "blue", ports: [{ port: 1, name: "y" }] });
    expect(refused).toThrow(
      'Apply failed with 2 conflicts: conflicts with "a":\n- .spec.color\n- .spec.ports[port=1].name',
    );
    try {
      refused();
    } catch (error) {
      expect((error as StatusError).body).toMatchObject({
        code: 409,
        reason: "Conflict",
        details: {
          causes: [{ reason: "FieldManagerConflict", field: ".spec.color" }, { field: ".spec.ports[port=1].name" }],
        },
      });
    }
    expect(owned(apply(live, "b", { color: "red" }), "a")).toHaveProperty(["f:spec", "f:color"]);
  });

  test("force takes the field over", () => {
    const object = apply(apply(undefined, "a", { color: "red", size: 1 }), "b", { color: "blue" }, true);
    expect(object.spec).toEqual({ color: "blue", size: 1 });
    expect([owned(object, "a"), owned(object, "b")]).toEqual([
      { "f:spec": { "f:size": {} } },
      { "f:spec": { "f:color": {} } },
    ]);
  });

  test("what is no longer said goes, unless somebody else owns it", () => {
    let object = apply(undefined, "a", { color: "red", size: 1, ports: [{ port: 1 }, { port: 2 }] });
    object = apply(object, "b", { size: 1, ports: [{ port: 2 }] });
    object = apply(object, "a", { color: "red" });
    expect(object.spec).toEqual({ color: "red", size: 1, ports: [{ port: 2 }] });
    expect(owned(object, "a")).toEqual({ "f:spec": { "f:color": {} } });
  });

  test("a list-map item goes whole when its last owner lets go of it", () => {
    let object = apply(undefined, "a", { ports: [{ port: 1, name: "x" }, { port: 2 }] });
    object = apply(object, "a", { ports: [{ port: 2 }] });
    expect(object.spec).toEqual({ ports: [{ port: 2 }] });
  });

  test("new items keep their order around those that others own", () => {
    const object = apply(apply(undefined, "a", { ports: [{ port: 1 }, { port: 2 }] }), "b", {
      ports: [{ port: 3 }, { port: 1 }],
    });
    expect(object.spec).toEqual({ ports: [{ port: 3 }, { port: 1 }, { port: 2 }] });
  });

  test("a second run changes nothing, not even the time", () => {
    const live = apply(undefined, "a", { color: "red", ports: [{ port: 1 }] });
    const again = applyConfiguration(
      { ...request("a"), time: "2027-01-01T00:00:00Z", force: false, gvk: "" },
      live,
      widget({ color: "red", ports: [{ port: 1 }] }),
    );
    expect(again).toEqual(live);
  });

  test("an update takes fields from an applier, which then conflicts", () => {
    const updated = update(apply(undefined, "a", { color: "red", size: 1 }), "u", { color: "blue", size: 1 });
    expect([owned(updated, "a"), owned(updated, "u")]).toEqual([
      { "f:spec": { "f:size": {} } },
      { "f:spec": { "f:color": {} } },
    ]);
    expect(() => apply(updated, "a", { color: "red" })).toThrow(
      'Apply failed with 1 conflict: conflict with "u" using x/v1: .spec.color',
    );
  });

  test("an object that nobody tracked belongs to before-first-apply", () => {
    expect(owned(apply(widget({ color: "red" }), "a", { size: 1 }), "before-first-apply")).toEqual({
      "f:spec": { ".": {}, "f:color": {} },
    });
  });

  test.each([
    ["an unknown field", { foo: 1 }, ".spec.foo: field not declared in schema"],
    ["a wrong type", { size: "x" }, ".spec.size: expected numeric (int or float), got string"],
    ["a key given twice", { ports: [{ port: 1 }, { port: 1 }] }, ".spec.ports: duplicate entries for key [port=1]"],
    [
      "an item without its key",
      { ports: [{ name: "x" }] },
      "element 0: associative list with keys has an element that omits all key fields",
    ],
  ])("refuses %s", (_what, spec, message) => {
    expect(() => apply(undefined, "a", spec)).toThrow(message);
  });
});

test("updaters beyond ten are folded into one entry", () => {
  let object: KubeObject = widget({});
  trackUpdate(request("u0"), undefined, object);
  object = apply(object, "a", { color: "x" });
  for (let i = 0; i < 14; i++)
    object = update(object, `u${i}`, {
      ...(object.spec as object),
      tags: [...((object.spec as { tags?: string[] }).tags ?? []), `t${i}`],
    });
  const updaters = object.metadata.managedFields?.filter((entry) => entry.operation === "Update") ?? [];
  expect(updaters.length).toBe(10);
  expect(updaters.map((entry) => entry.manager)).toContain("ancient-changes");
});

test("keys of list-maps have defaults: a Service port without protocol is TCP", () => {
  const service = (ports: unknown): KubeObject => ({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "s" },
    spec: { ports },
  });
  const object = applyConfiguration(
    { ...request("a", builtinView("io.k8s.api.core.v1.Service")), force: false, gvk: "" },
    service([{ port: 80, protocol: "TCP", targetPort: 80 }]),
    service([{ port: 80, name: "http" }]),
  );
  expect(object.spec).toEqual({ ports: [{ port: 80, protocol: "TCP", targetPort: 80, name: "http" }] });
  expect(owned(object, "a")).toEqual({
    "f:spec": { "f:ports": { 'k:{"port":80,"protocol":"TCP"}': { ".": {}, "f:name": {}, "f:port": {} } } },
  });
});
