// Rows: watches beyond the first table: metadata alone, selectors of sets, collections, several kinds of start, and what a watch may not ask.
import { expect } from "vitest";
import { type Api, brief, type Json, using, type WatchEvent } from "../api.ts";
import { configMap, configMaps, group, row, widget, widgets } from "../row.ts";

const version = async (api: Api, path: string): Promise<string> => (await api.get(path)).body.metadata.resourceVersion;

export const streamRows = [
  row("resourceVersion=0 starts with the existing objects, like no version", async ({ api, ns }) => {
    await api.post(widgets(ns), widget("a"));
    await using(api.watch(`${widgets(ns)}?resourceVersion=0`), async (watch) => {
      expect(brief(await watch.take(1))).toEqual(["ADDED a"]);
      await api.post(widgets(ns), widget("b"));
      expect(brief(await watch.take(1))).toEqual(["ADDED b"]);
    });
  }),
  row(
    "initial events are those of the selected objects, and the bookmark comes even without any",
    async ({ api, ns }) => {
      await api.post(widgets(ns), widget("a", {}, { labels: { tier: "web" } }));
      await api.post(widgets(ns), widget("b"));
      const start = (selector: string) =>
        api.watch(
          `${widgets(ns)}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&labelSelector=${selector}`,
        );
      await using(start("tier=web"), async (watch) =>
        expect((await watch.take(2)).map(({ type }) => type)).toEqual(["ADDED", "BOOKMARK"]),
      );
      await using(start("tier=none"), async (watch) => {
        const [bookmark] = await watch.take(1);
        expect([bookmark!.type, bookmark!.object.metadata.annotations]).toEqual([
          "BOOKMARK",
          { "k8s.io/initial-events-end": "true" },
        ]);
      });
    },
  ),
  row("a set-based selector: events follow the labels of objects", async ({ api, ns }) => {
    const from = await version(api, widgets(ns));
    const label = (tier: string | null) => api.patch("merge", `${widgets(ns)}/a`, { metadata: { labels: { tier } } });
    await using(
      api.watch(
        `${widgets(ns)}?resourceVersion=${from}&labelSelector=${encodeURIComponent("tier in (web, api),!gone")}`,
      ),
      async (watch) => {
        await api.post(widgets(ns), widget("a"));
        await label("web");
        await label("api");
        await label("db");
        await label("web");
        await api.delete(`${widgets(ns)}/a`);
        expect(brief(await watch.take(5))).toEqual(["ADDED a", "MODIFIED a", "DELETED a", "ADDED a", "DELETED a"]);
      },
    );
  }),
  row(
    "an object that leaves a selection is sent in its last matching state, with the version of the change",
    async ({ api, ns }) => {
      const made = (await api.post(widgets(ns), widget("a", { size: 2 }, { labels: { tier: "web" } }))).body;
      await using(
        api.watch(`${widgets(ns)}?resourceVersion=${made.metadata.resourceVersion}&labelSelector=tier=web`),
        async (watch) => {
          const left = (
            await api.patch("merge", `${widgets(ns)}/a`, { metadata: { labels: { tier: "db" } }, spec: { size: 3 } })
          ).body;
          const [event] = await watch.take(1);
          expect([
            event!.type,
            event!.object.metadata.labels,
            event!.object.spec.size,
            event!.object.metadata.resourceVersion,
          ]).toEqual(["DELETED", { tier: "web" }, 2, left.metadata.resourceVersion]);
        },
      );
    },
  ),
  row("a deletecollection emits one event for each object", async ({ api, ns }) => {
    for (const name of ["a", "b", "c"])
      await api.post(configMaps(ns), configMap(name, {}, { labels: { mine: "yes" } }));
    const from = await version(api, configMaps(ns));
    await using(api.watch(`${configMaps(ns)}?resourceVersion=${from}&labelSelector=mine=yes`), async (watch) => {
      await api.delete(`${configMaps(ns)}?labelSelector=mine=yes`);
      expect(brief(await watch.take(3)).sort()).toEqual(["DELETED a", "DELETED b", "DELETED c"]);
    });
  }),
  row("an object with a finalizer is first MODIFIED, then DELETED", async ({ api, ns }) => {
    const made = (await api.post(widgets(ns), widget("a", {}, { finalizers: ["example.com/x"] }))).body;
    await using(api.watch(`${widgets(ns)}?resourceVersion=${made.metadata.resourceVersion}`), async (watch) => {
      await api.delete(`${widgets(ns)}/a`);
      await api.patch("merge", `${widgets(ns)}/a`, { metadata: { finalizers: null } });
      const [marked, gone] = await watch.take(2);
      expect([marked!.type, typeof marked!.object.metadata.deletionTimestamp, gone!.type]).toEqual([
        "MODIFIED",
        "string",
        "DELETED",
      ]);
    });
  }),
  row("metadata alone: every event is a PartialObjectMetadata", async ({ api, ns }) => {
    const from = await version(api, widgets(ns));
    await api.post(widgets(ns), widget("a", { size: 2 }, { labels: { l: "1" } }));
    await api.delete(`${widgets(ns)}/a`);
    const { text } = await api.get(`${widgets(ns)}?watch=true&timeoutSeconds=1&resourceVersion=${from}`, {
      accept: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    });
    const events = text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as WatchEvent);
    expect(
      events.map(({ type, object }) => [type, object.kind, object.apiVersion, object.metadata.labels, object.spec]),
    ).toEqual([
      ["ADDED", "PartialObjectMetadata", "meta.k8s.io/v1", { l: "1" }, undefined],
      ["DELETED", "PartialObjectMetadata", "meta.k8s.io/v1", { l: "1" }, undefined],
    ]);
  }),
  row("a watch over all namespaces sends changes in the order of their versions", async ({ api, ns }) => {
    const all = `/apis/${group}/v1/widgets?labelSelector=order=${ns}`;
    const from = await version(api, all);
    await using(api.watch(`${all}&resourceVersion=${from}`), async (watch) => {
      await Promise.all(
        Array.from({ length: 10 }, (_, i) =>
          api.post(widgets(i % 2 ? ns : "default"), widget(`${ns}-${i}`, {}, { labels: { order: ns } })),
        ),
      );
      const versions = (await watch.take(10)).map(({ object }: { object: Json }) =>
        Number(object.metadata.resourceVersion),
      );
      expect(versions).toEqual(versions.toSorted((a, b) => a - b));
    });
    await api.delete(`${widgets("default")}?labelSelector=order=${ns}`);
  }),
  row("watch=true on the path of one object is a get", async ({ api, ns }) => {
    await api.post(configMaps(ns), configMap("a", { k: "v" }));
    expect((await api.get(`${configMaps(ns)}/a?watch=true`)).body).toMatchObject({
      kind: "ConfigMap",
      data: { k: "v" },
    });
  }),
];
