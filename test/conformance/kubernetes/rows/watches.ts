// Rows: watches: what comes, in which order, from which version on, and how a watch ends.
import { expect } from "vitest";
import { brief, using, type WatchEvent } from "../api.ts";
import { configMap, configMaps, row, widget, widgets } from "../row.ts";

export const watchRows = [
  row("a watch from a list's version sees each later change once, in order", async ({ api, ns }) => {
    await api.post(widgets(ns), widget("before"));
    const { body } = await api.get(widgets(ns));
    await using(api.watch(`${widgets(ns)}?resourceVersion=${body.metadata.resourceVersion}`), async (watch) => {
      await api.post(widgets(ns), widget("a"));
      await api.patch("merge", `${widgets(ns)}/a`, { spec: { size: 2 } });
      await api.post(widgets(ns), widget("b"));
      const gone = (await api.get(`${widgets(ns)}/a`)).body;
      await api.delete(`${widgets(ns)}/a`);
      const events = await watch.take(4);
      expect(brief(events)).toEqual(["ADDED a", "MODIFIED a", "ADDED b", "DELETED a"]);
      const versions = events.map((event) => Number(event.object.metadata.resourceVersion));
      expect(versions).toEqual([...versions].sort((x, y) => x - y));
      expect(new Set(versions).size).toBe(4);
      expect(events[3]!.object).toMatchObject({ kind: "Widget", spec: gone.spec });
    });
  }),
  row("a watch resumes from the version of any event", async ({ api, ns }) => {
    const first = (await api.post(widgets(ns), widget("a"))).body;
    for (const size of [2, 3, 4]) await api.patch("merge", `${widgets(ns)}/a`, { spec: { size } });
    const sizes = await using(
      api.watch(`${widgets(ns)}?resourceVersion=${first.metadata.resourceVersion}`),
      async (watch) => await watch.take(3),
    );
    expect(sizes.map((event) => event.object.spec.size)).toEqual([2, 3, 4]);
    const rest = await using(
      api.watch(`${widgets(ns)}?resourceVersion=${sizes[1]!.object.metadata.resourceVersion}`),
      async (watch) => await watch.take(1),
    );
    expect(rest.map((event) => event.object.spec.size)).toEqual([4]);
  }),
  row("a watch without a version starts with ADDED events of the existing objects", async ({ api, ns }) => {
    await api.post(widgets(ns), widget("a"));
    await api.post(widgets(ns), widget("b"));
    await using(api.watch(widgets(ns)), async (watch) => {
      expect(brief(await watch.take(2)).sort()).toEqual(["ADDED a", "ADDED b"]);
      await api.post(widgets(ns), widget("c"));
      expect(brief(await watch.take(1))).toEqual(["ADDED c"]);
    });
  }),
  row("sendInitialEvents ends the initial objects with a bookmark", async ({ api, ns }) => {
    await api.post(widgets(ns), widget("a"));
    await using(
      api.watch(`${widgets(ns)}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`),
      async (watch) => {
        const events = await watch.take(2);
        expect(events.map((event) => event.type)).toEqual(["ADDED", "BOOKMARK"]);
        expect(events[1]!.object.metadata).toMatchObject({
          annotations: { "k8s.io/initial-events-end": "true" },
          resourceVersion: expect.stringMatching(/^\d+$/),
        });
      },
    );
  }),
  row("a bookmark with a version to resume from comes before a watch times out", async ({ api, ns }) => {
    const { body } = await api.get(widgets(ns));
    await using(
      api.watch(
        `${widgets(ns)}?resourceVersion=${body.metadata.resourceVersion}&allowWatchBookmarks=true&timeoutSeconds=5&fieldSelector=metadata.name=none`,
      ),
      async (watch) => {
        // Nothing new, no bookmark: the version must have moved on.
        await api.post(widgets(ns), widget("unseen"));
        const seen: WatchEvent[] = [];
        for (let event = await watch.next(); event; event = await watch.next()) seen.push(event);
        expect(seen.length).toBeGreaterThan(0);
        expect(new Set(seen.map((event) => event.type))).toEqual(new Set(["BOOKMARK"]));
        expect(seen[0]!.object).toMatchObject({
          kind: "Widget",
          apiVersion: "conformance.example/v1",
          metadata: { resourceVersion: expect.stringMatching(/^\d+$/) },
        });
        expect(Number(seen[0]!.object.metadata.resourceVersion)).toBeGreaterThan(Number(body.metadata.resourceVersion));
      },
    );
  }),
  row("timeoutSeconds ends a watch", async ({ api, ns }) => {
    await using(
      api.watch(`${configMaps(ns)}?resourceVersion=0&timeoutSeconds=1&fieldSelector=metadata.name=none`),
      async (watch) => {
        expect(await watch.next()).toBeUndefined();
      },
    );
  }),
  row("a version that is too old is 410 Expired, in the stream or before it", async ({ api, ns }) => {
    await api.post(widgets(ns), widget("a"));
    await using(api.watch(`${widgets(ns)}?resourceVersion=1`), async (watch) => {
      const event = watch.status === 200 ? await watch.next() : undefined;
      const status = event?.object ?? (await api.get(`${widgets(ns)}?resourceVersion=1&watch=true`)).body;
      if (event) expect(event.type).toBe("ERROR");
      expect(status).toMatchObject({ kind: "Status", status: "Failure", code: 410 });
      expect(["Expired", "Gone"]).toContain(status.reason);
    });
  }),
  row("an object that starts or stops matching a selector is ADDED or DELETED", async ({ api, ns }) => {
    const { body } = await api.get(widgets(ns));
    await using(
      api.watch(`${widgets(ns)}?labelSelector=in=yes&resourceVersion=${body.metadata.resourceVersion}`),
      async (watch) => {
        await api.post(widgets(ns), widget("a"));
        await api.patch("merge", `${widgets(ns)}/a`, { metadata: { labels: { in: "yes" } } });
        await api.patch("merge", `${widgets(ns)}/a`, { spec: { size: 5 } });
        await api.patch("merge", `${widgets(ns)}/a`, { metadata: { labels: { in: null } } });
        await api.post(widgets(ns), widget("b", {}, { labels: { in: "yes" } }));
        expect(brief(await watch.take(4))).toEqual(["ADDED a", "MODIFIED a", "DELETED a", "ADDED b"]);
      },
    );
  }),
  row("a watch of one name, and of a selectable field", async ({ api, ns }) => {
    const { body } = await api.get(widgets(ns));
    const from = `resourceVersion=${body.metadata.resourceVersion}`;
    await using(api.watch(`${widgets(ns)}?fieldSelector=metadata.name=b&${from}`), (byName) =>
      using(api.watch(`${widgets(ns)}?fieldSelector=spec.color=red&${from}`), async (byField) => {
        await api.post(widgets(ns), widget("a", { color: "red" }));
        await api.post(widgets(ns), widget("b"));
        expect(brief(await byName.take(1))).toEqual(["ADDED b"]);
        expect(brief(await byField.take(1))).toEqual(["ADDED a"]);
      }),
    );
  }),
  row("a watch of one namespace gets no events of another", async ({ api, ns, unique }) => {
    const other = unique("other");
    await api.post("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: other } });
    const { body } = await api.get(configMaps(ns));
    await using(
      api.watch(`${configMaps(ns)}?resourceVersion=${body.metadata.resourceVersion}&fieldSelector=metadata.name=mine`),
      async (watch) => {
        await api.post(configMaps(other), configMap("mine"));
        await api.post(configMaps(ns), configMap("mine"));
        const [event] = await watch.take(1);
        expect(event!.object.metadata.namespace).toBe(ns);
      },
    );
  }),
  row("a write that changes nothing emits no event", async ({ api, ns }) => {
    const made = (await api.post(widgets(ns), widget("a"))).body;
    await using(api.watch(`${widgets(ns)}?resourceVersion=${made.metadata.resourceVersion}`), async (watch) => {
      await api.patch("merge", `${widgets(ns)}/a`, { spec: { size: 1 } });
      await api.put(`${widgets(ns)}/a`, made);
      await api.patch("merge", `${widgets(ns)}/a`, { spec: { size: 7 } });
      expect((await watch.take(1))[0]!.object.spec.size).toBe(7);
    });
  }),
  row("a watch as Table sends the columns in its first event only", async ({ api, ns }) => {
    const { body } = await api.get(widgets(ns));
    await api.post(widgets(ns), widget("a"));
    await api.post(widgets(ns), widget("b"));
    const answer = await api.get(
      `${widgets(ns)}?watch=true&timeoutSeconds=1&resourceVersion=${body.metadata.resourceVersion}`,
      { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" },
    );
    const events = answer.text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as WatchEvent);
    expect(events.map((event) => [event.type, event.object.kind, event.object.rows[0].cells[0]])).toEqual([
      ["ADDED", "Table", "a"],
      ["ADDED", "Table", "b"],
    ]);
    expect(events[0]!.object.columnDefinitions.length).toBeGreaterThan(0);
    expect(events[1]!.object.columnDefinitions ?? []).toEqual([]);
  }),
];
