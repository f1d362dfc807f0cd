// Rows: lists: pages, label and field selectors, versions, and the Table that kubectl asks for.
import { expect } from "vitest";
import type { Json } from "../api.ts";
import { configMap, configMaps, row, widget, widgets, type Scene } from "../row.ts";

const names = (body: Json): string[] => body.items.map((item: Json) => item.metadata.name);

async function labelled({ api, ns }: Scene): Promise<void> {
  const labels: Record<string, Record<string, string>> = {
    a: { tier: "web", env: "prod" },
    b: { tier: "web" },
    c: { tier: "db", env: "" },
    d: {},
  };
  for (const [name, set] of Object.entries(labels))
    await api.post(widgets(ns), widget(name, { color: name === "a" ? "red" : "green" }, { labels: set }));
}

const bySelector = (kind: "labelSelector" | "fieldSelector", selector: string, wanted: string[]) =>
  row(`${kind} ${selector}`, async (scene) => {
    await labelled(scene);
    const { status, body } = await scene.api.get(`${widgets(scene.ns)}?${kind}=${encodeURIComponent(selector)}`);
    expect(status).toBe(200);
    expect(names(body)).toEqual(wanted);
  });

export const listRows = [
  row("a list has kind, version and items in order of name", async ({ api, ns }) => {
    for (const name of ["b", "a", "c"]) await api.post(widgets(ns), widget(name));
    const { body } = await api.get(widgets(ns));
    expect(body).toMatchObject({
      apiVersion: "conformance.example/v1",
      kind: "WidgetList",
      metadata: { resourceVersion: expect.stringMatching(/^\d+$/), continue: "" },
    });
    expect(names(body)).toEqual(["a", "b", "c"]);
  }),
  row("items of a built-in list carry no kind, an empty list is a list", async ({ api, ns, unique }) => {
    await api.post(configMaps(ns), configMap("a"));
    const { body } = await api.get(`${configMaps(ns)}?fieldSelector=metadata.name=a`);
    expect(body).toMatchObject({ apiVersion: "v1", kind: "ConfigMapList" });
    expect(body.items[0]).not.toHaveProperty("kind");
    expect((await api.get(widgets(unique("nowhere")))).body.items).toEqual([]);
  }),
  row("pages: limit and continue read one version and count the remaining items", async ({ api, ns }) => {
    for (let i = 0; i < 7; i++) await api.post(widgets(ns), widget(`w${i}`));
    const first = (await api.get(`${widgets(ns)}?limit=3`)).body;
    expect([names(first), first.metadata.remainingItemCount]).toEqual([["w0", "w1", "w2"], 4]);
    await api.delete(`${widgets(ns)}/w5`);
    await api.post(widgets(ns), widget("w9"));
    const second = (await api.get(`${widgets(ns)}?limit=3&continue=${encodeURIComponent(first.metadata.continue)}`))
      .body;
    expect([names(second), second.metadata.remainingItemCount]).toEqual([["w3", "w4", "w5"], 1]);
    const third = (await api.get(`${widgets(ns)}?limit=3&continue=${encodeURIComponent(second.metadata.continue)}`))
      .body;
    expect(names(third)).toEqual(["w6"]);
    expect(third.metadata.continue ?? "").toBe("");
    expect(new Set([first, second, third].map((page) => page.metadata.resourceVersion)).size).toBe(1);
  }),
  row("an invalid continue token is a bad request", async ({ api, ns }) => {
    expect((await api.get(`${widgets(ns)}?limit=1&continue=rubbish`)).status).toBe(400);
  }),
  row("a list over all namespaces", async ({ api, ns }) => {
    const label = `l-${ns}`;
    await api.post(widgets(ns), widget("a", {}, { labels: { all: label } }));
    const { body } = await api.get(`/apis/conformance.example/v1/widgets?labelSelector=all=${label}`);
    expect(body.items.map((item: Json) => [item.metadata.namespace, item.metadata.name])).toEqual([[ns, "a"]]);
  }),
  bySelector("labelSelector", "tier=web", ["a", "b"]),
  bySelector("labelSelector", "tier==web,env=prod", ["a"]),
  bySelector("labelSelector", "tier!=web", ["c", "d"]),
  bySelector("labelSelector", "tier in (web, db),env", ["a", "c"]),
  bySelector("labelSelector", "tier notin (web)", ["c", "d"]),
  bySelector("labelSelector", "!env", ["b", "d"]),
  bySelector("labelSelector", "env=", ["c"]),
  bySelector("fieldSelector", "metadata.name=b", ["b"]),
  bySelector("fieldSelector", "metadata.name!=b", ["a", "c", "d"]),
  bySelector("fieldSelector", "spec.color=red", ["a"]),
  row("invalid selectors are bad requests", async ({ api, ns }) => {
    expect((await api.get(`${widgets(ns)}?labelSelector=${encodeURIComponent("a in b")}`)).status).toBe(400);
    const { status, body } = await api.get(`${widgets(ns)}?fieldSelector=spec.size=1`);
    expect([status, body.reason, body.message]).toEqual([
      400,
      "BadRequest",
      expect.stringContaining("field label not supported: spec.size"),
    ]);
  }),
  row("lists not older than a version, and exactly at a version", async ({ api, ns }) => {
    const made = (await api.post(widgets(ns), widget("a"))).body;
    await api.post(widgets(ns), widget("b"));
    const rv = made.metadata.resourceVersion;
    expect(
      names((await api.get(`${widgets(ns)}?resourceVersion=${rv}&resourceVersionMatch=NotOlderThan`)).body),
    ).toContain("a");
    expect(
      names((await api.get(`${widgets(ns)}?resourceVersion=${rv}&resourceVersionMatch=Exact&limit=10`)).body),
    ).toEqual(["a"]);
    expect((await api.get(`${widgets(ns)}?resourceVersion=0`)).status).toBe(200);
    expect((await api.get(`${widgets(ns)}?resourceVersion=abc`)).status).toBe(400);
  }),
  row("a Table has the kind's columns, wide ones by priority", async ({ api, ns }) => {
    await api.post(widgets(ns), widget("a", { size: 4, note: "hi" }));
    await api.patch("merge", `${widgets(ns)}/a/status`, {
      status: { conditions: [{ type: "Ready", status: "True" }] },
    });
    const { body } = await api.get(widgets(ns), {
      accept: "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
    });
    expect(body).toMatchObject({ kind: "Table", apiVersion: "meta.k8s.io/v1" });
    expect(body.columnDefinitions.map((c: Json) => [c.name, c.type, c.format, c.priority])).toEqual([
      ["Name", "string", "name", 0],
      ["Size", "integer", "", 0],
      ["Ready", "string", "", 0],
      ["Note", "string", "", 1],
      ["Age", "date", "", 0],
    ]);
    expect(body.rows[0].cells.slice(0, 4)).toEqual(["a", 4, "True", "hi"]);
    expect(body.rows[0].cells[4]).toMatch(/^\d+s$/);
    expect(body.rows[0].object).toMatchObject({
      kind: "PartialObjectMetadata",
      apiVersion: "meta.k8s.io/v1",
      metadata: { name: "a" },
    });
  }),
  row("a single object is a Table too, with the whole object for includeObject=Object", async ({ api, ns }) => {
    await api.post(configMaps(ns), configMap("a", { k: "v", l: "w" }));
    const accept = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
    const { body } = await api.get(`${configMaps(ns)}/a?includeObject=Object`, accept);
    expect(body.columnDefinitions.map((c: Json) => c.name)).toEqual(["Name", "Data", "Age"]);
    expect(body.rows[0].cells.slice(0, 2)).toEqual(["a", 2]);
    expect(body.rows[0].object).toMatchObject({ kind: "ConfigMap", data: { k: "v" } });
  }),
  row("PartialObjectMetadata carries metadata alone", async ({ api, ns }) => {
    await api.post(widgets(ns), widget("a"));
    const one = (
      await api.get(`${widgets(ns)}/a`, { accept: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1" })
    ).body;
    expect(one).toMatchObject({ kind: "PartialObjectMetadata", metadata: { name: "a" } });
    expect(one).not.toHaveProperty("spec");
    const list = (
      await api.get(widgets(ns), { accept: "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1" })
    ).body;
    expect([list.kind, names(list)]).toEqual(["PartialObjectMetadataList", ["a"]]);
  }),
];
