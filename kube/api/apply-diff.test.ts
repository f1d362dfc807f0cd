// Differences between a draft and a live object that require an apply.
import { describe, expect, it } from "vitest";
import { needsApply } from "./apply-diff.ts";

const fields = {
  "f:metadata": { "f:labels": { "f:app": {} } },
  "f:data": { "f:a": {}, "f:n": {} },
  "f:spec": {
    "f:replicas": {},
    "f:resources": { "f:limits": { "f:memory": {} } },
    "f:selector": {},
    "f:atomic": {},
    "f:ports": { 'k:{"port":80,"protocol":"TCP"}': { ".": {}, "f:name": {}, "f:port": {} } },
    "f:tags": { 'v:"x"': {}, 'v:"y"': {} },
  },
};
const desired = {
  apiVersion: "v1",
  kind: "Thing",
  metadata: { name: "t", namespace: "ns", labels: { app: "a" } },
  data: { a: "1", n: "" },
  spec: {
    replicas: 2,
    resources: { limits: { memory: "1024Mi" } },
    selector: { app: "a" },
    atomic: [{ x: 1 }],
    ports: [{ port: 80, name: "http" }],
    tags: ["x", "y"],
    empty: {},
    none: undefined,
    off: false,
  },
};
const live = {
  apiVersion: "v1",
  kind: "Thing",
  metadata: { name: "t", namespace: "ns", uid: "u", resourceVersion: "7", labels: { app: "a", foreign: "f" } },
  data: { a: "1", n: "", other: "o" },
  spec: {
    replicas: 2,
    resources: { limits: { memory: "1Gi" } },
    selector: { app: "a" },
    atomic: [{ x: 1, defaulted: true }],
    ports: [
      { port: 80, name: "http", protocol: "TCP", nodePort: 30000 },
      { port: 443, protocol: "TCP" },
    ],
    tags: ["x", "y", "z"],
    defaulted: 3,
  },
  status: { anything: 1 },
};
const change = <T extends object>(object: T, edit: (copy: T & Record<string, never>) => void): T => {
  const copy = structuredClone(object) as T & Record<string, never>;
  edit(copy);
  return copy;
};

describe("needsApply", () => {
  it("is false when only the server and other managers added fields", () => {
    expect(needsApply(desired, live, fields)).toBe(false);
  });

  it("is true without a live object, or without our managedFields", () => {
    expect(needsApply(desired, undefined, undefined)).toBe(true);
    expect(needsApply(desired, live, undefined)).toBe(true);
  });

  const drifts: [string, (l: typeof live) => void][] = [
    ["a value", (l) => (l.spec.replicas = 3)],
    ["a label", (l) => (l.metadata.labels.app = "b")],
    ["a quantity", (l) => (l.spec.resources.limits.memory = "2Gi")],
    ["a missing map entry", (l) => delete (l.data as Partial<typeof l.data>).a],
    ["a field of a keyed item", (l) => (l.spec.ports[0]!.name = "www")],
    ["a keyed item that is gone", (l) => l.spec.ports.shift()],
    ["a set value that is gone", (l) => l.spec.tags.shift()],
    ["one more item in a list with one owner", (l) => l.spec.atomic.push({ x: 2, defaulted: true })],
  ];
  it.each(drifts)("detects drift of %s", (_what, edit) => {
    expect(needsApply(desired, change(live, edit as never), fields)).toBe(true);
  });

  const plans: [string, (d: typeof desired) => void][] = [
    ["a new value", (d) => (d.spec.replicas = 1)],
    ["zero", (d) => (d.spec.replicas = 0)],
    ["an empty string instead of a text", (d) => (d.data.a = "")],
    ["a removed field", (d) => delete (d.data as Partial<typeof d.data>).a],
    ["a removed map", (d) => delete (d as Partial<typeof d>).data],
    ["a removed keyed item", (d) => (d.spec.ports = [])],
    ["a removed set value", (d) => d.spec.tags.pop()],
    ["a new field", (d) => Object.assign(d.spec, { more: "m" })],
    [
      "a new field with the value that is there already, but not owned by us",
      (d) => Object.assign(d.spec, { defaulted: 3 }),
    ],
    ["a longer atomic list", (d) => d.spec.atomic.push({ x: 2 })],
  ];
  it.each(plans)("detects %s in the draft", (_what, edit) => {
    expect(needsApply(change(desired, edit as never), live, fields)).toBe(true);
  });

  it("detects a field that another manager has taken over", () => {
    const { "f:selector": _taken, ...spec } = fields["f:spec"];
    expect(needsApply(desired, live, { ...fields, "f:spec": spec })).toBe(true);
  });
});
