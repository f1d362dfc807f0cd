// Rows: metadata.managedFields as a client meets it outside of server-side apply: who is named, how it is reset, and how long the list may grow.
import { expect } from "vitest";
import type { Json } from "../api.ts";
import { row, widget, widgets } from "../row.ts";

const managers = ({ metadata }: Json) => (metadata.managedFields ?? []).map((entry: Json) => entry.manager).sort();
const json = { "content-type": "application/json" };

export const managedRows = [
  row("without a field manager the user agent's name up to the slash is used", async ({ api, ns }) => {
    const send = async (name: string, headers: Json, query = "") =>
      (
        await api.send("POST", `${widgets(ns)}${query}`, {
          body: JSON.stringify(widget(name)),
          headers: { ...json, ...headers },
        })
      ).body;
    expect(managers(await send("a", { "user-agent": "my-tool/v1 (linux)" }))).toEqual(["my-tool"]);
    expect(managers(await send("b", { "user-agent": "my-tool/v1" }, "?fieldManager=other"))).toEqual(["other"]);
  }),
  row(
    "an entry has manager, operation, version, time and fields; one of status its subresource, too",
    async ({ api, ns }) => {
      await api.post(`${widgets(ns)}?fieldManager=maker`, widget("a", { size: 2 }));
      const { body } = await api.patch("merge", `${widgets(ns)}/a/status?fieldManager=watcher`, {
        status: { replicas: 1 },
      });
      const [maker, watcher] = body.metadata.managedFields.toSorted((x: Json, y: Json) =>
        x.manager < y.manager ? -1 : 1,
      );
      expect(maker).toEqual({
        manager: "maker",
        operation: "Update",
        apiVersion: "conformance.example/v1",
        time: expect.stringMatching(/^\d{4}-.*Z$/),
        fieldsType: "FieldsV1",
        fieldsV1: { "f:spec": { ".": {}, "f:nested": { ".": {}, "f:mode": {} }, "f:replicas": {}, "f:size": {} } },
      });
      expect(watcher).toMatchObject({
        manager: "watcher",
        operation: "Update",
        subresource: "status",
        fieldsV1: { "f:status": { ".": {}, "f:replicas": {} } },
      });
    },
  ),
  row("an empty entry resets ownership; nobody owns a field until the next apply", async ({ api, ns }) => {
    await api.post(widgets(ns), widget("a", { size: 3 }));
    const reset = await api.patch("merge", `${widgets(ns)}/a`, { metadata: { managedFields: [{}] } });
    expect([reset.status, managers(reset.body)]).toEqual([200, []]);
    expect(
      managers((await api.patch("merge", `${widgets(ns)}/a?fieldManager=two`, { spec: { size: 4 } })).body),
    ).toEqual([]);
    const applied = await api.patch("apply", `${widgets(ns)}/a?fieldManager=three`, widget("a", { note: "x" }));
    expect(managers(applied.body)).toEqual(["before-first-apply", "three"]);
  }),
  row("an update without managedFields keeps them", async ({ api, ns }) => {
    const made = (await api.post(`${widgets(ns)}?fieldManager=one`, widget("a", { size: 3 }))).body;
    const { managedFields: _fields, ...metadata } = made.metadata;
    const { status, text } = await api.put(`${widgets(ns)}/a?fieldManager=two`, {
      ...made,
      metadata,
      spec: { ...made.spec, size: 4 },
    });
    expect(status, text).toBe(200);
    expect(managers((await api.get(`${widgets(ns)}/a`)).body)).toEqual(["one", "two"]);
  }),
  row("entries beyond ten updaters are merged into ancient-changes", async ({ api, ns }) => {
    await api.post(`${widgets(ns)}?fieldManager=m0`, widget("a"));
    for (let i = 1; i <= 12; i++)
      await api.patch("merge", `${widgets(ns)}/a?fieldManager=m${i}`, { metadata: { labels: { [`l${i}`]: "x" } } });
    const found = managers((await api.get(`${widgets(ns)}/a`)).body);
    expect([found.length, found.includes("ancient-changes"), found.includes("m12")]).toEqual([10, true, true]);
  }),
  row("a manager that owns no field any more is removed", async ({ api, ns }) => {
    await api.post(`${widgets(ns)}?fieldManager=one`, widget("a"));
    await api.patch("merge", `${widgets(ns)}/a?fieldManager=two`, { spec: { note: "x" } });
    const { body } = await api.patch("merge", `${widgets(ns)}/a?fieldManager=three`, { spec: { note: null } });
    expect(managers(body)).toEqual(["one"]);
  }),
];
