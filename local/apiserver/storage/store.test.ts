// Promises of the store: nothing acknowledged is lost, versions only grow, two writers cannot both win, history ends honestly.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { KubeObject } from "../../../kube/api/object.ts";
import { mountSmallDisk, whyNoSmallDisk } from "../../../kube/testing/small-disk.ts";
import { StatusError } from "../status.ts";
import { openStore } from "./store.ts";

const make = (name: string, data: Record<string, string> = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "ns" },
  data,
});
const KEY = "/configmaps";
const raise = (error: unknown) => {
  throw error;
};
let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "store-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test("survives kill -9 with everything it acknowledged", async () => {
  // writeSync, since process.stdout queues what the socket cannot take, and this loop never lets it send that.
  const script = `
    const { writeSync } = await import("node:fs");
    const { openStore } = await import(${JSON.stringify(join(import.meta.dirname, "store.ts"))});
    const store = openStore(${JSON.stringify(join(dir, "db"))}, console.error);
    for (let i = 0; ; i++) {
      const object = store.put(${JSON.stringify(KEY)}, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "o" + i, namespace: "ns" } }, undefined);
      if (i % 3 === 0) store.remove(${JSON.stringify(KEY)}, object);
      writeSync(1, i + " " + store.version() + "\\n");
    }`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let told = "";
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
    told += chunk.toString();
    if (told.split("\n").length > 300) child.kill("SIGKILL");
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  const [count = 0, version = 0] =
    told.slice(0, told.lastIndexOf("\n")).split("\n").at(-1)?.split(" ").map(Number) ?? [];
  expect(count).toBeGreaterThan(200);

  const store = openStore(join(dir, "db"), raise);
  for (let i = 0; i <= count; i++)
    expect(store.table(KEY).find("ns", `o${i}`) === undefined, `o${i}`).toBe(i % 3 === 0);
  expect(store.version()).toBeGreaterThanOrEqual(version);
  store.close();
});

test("only one of two writers of one state wins", () => {
  const store = openStore(join(dir, "db"), raise);
  const first = store.put(KEY, make("a"), undefined);
  expect(store.put(KEY, make("a"), undefined)).toBeUndefined();
  const second = store.put(KEY, make("a", { x: "1" }), first);
  expect(second?.metadata.resourceVersion).toBe(String(store.version()));
  expect(first && store.put(KEY, make("a", { x: "2" }), first)).toBeUndefined();
  expect(first && store.remove(KEY, first)).toBeUndefined();
  store.close();
});

test("a version that was given to a deletion is not given again", () => {
  let store = openStore(join(dir, "db"), raise);
  const object = store.put(KEY, make("a"), undefined);
  if (object) store.remove(KEY, object);
  const version = store.version();
  store.close();
  store = openStore(join(dir, "db"), raise);
  expect(store.version()).toBe(version);
  expect(store.put(KEY, make("b"), undefined)?.metadata.resourceVersion).toBe(String(version + 1));
  store.close();
});

test("history resumes where it reaches, says so where it does not, and shows the past", () => {
  const store = openStore(join(dir, "db"), raise);
  const table = store.table(KEY);
  let current = store.put(KEY, make("a"), undefined);
  const start = store.version();
  store.put(KEY, make("b"), undefined);
  current = current && store.put(KEY, make("a", { x: "1" }), current);
  if (current) store.remove(KEY, current);
  expect(table.since(start)?.map(({ type, object }) => `${type} ${object.metadata.name}`)).toEqual([
    "ADDED b",
    "MODIFIED a",
    "DELETED a",
  ]);
  expect(table.listAt(start)?.map(({ metadata }) => metadata.name)).toEqual(["a"]);
  let busy = store.put(KEY, make("busy"), undefined);
  for (let i = 0; i < 2_100; i++) busy = busy && store.put(KEY, make("busy", { i: String(i) }), busy);
  expect(table.since(start)).toBeUndefined();
  expect(table.since(store.version())).toEqual([]);
  store.close();
});

test("lists are sorted by namespace, then name, through changes", () => {
  const store = openStore(join(dir, "db"), raise);
  const put = (namespace: string, name: string) =>
    store.put(KEY, { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace } }, undefined);
  const names = () =>
    store
      .table(KEY)
      .list()
      .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
  put("b", "x");
  const middle = put("a", "m");
  put("a", "z");
  put("a", "a");
  expect(names()).toEqual(["a/a", "a/m", "a/z", "b/x"]);
  if (middle) store.put(KEY, { ...middle, metadata: { ...middle.metadata } }, middle);
  expect(names()).toEqual(["a/a", "a/m", "a/z", "b/x"]);
  expect(
    store
      .table(KEY)
      .list("a")
      .find(({ metadata }) => metadata.name === "m")?.metadata.resourceVersion,
  ).toBe(String(store.version()));
  store.close();
});

test("a subscriber that throws is reported, and the other subscribers get the change", () => {
  const faults: unknown[] = [];
  const store = openStore(join(dir, "db"), (error) => faults.push(error));
  const heard: string[] = [];
  store.table(KEY).subscribe(() => {
    throw new Error("broken");
  });
  store.table(KEY).subscribe(({ object }) => heard.push(object.metadata.name));
  store.subscribe((resource) => heard.push(resource));
  expect(store.put(KEY, make("a"), undefined)).toBeDefined();
  expect({ heard, faults }).toMatchObject({ heard: ["a", KEY], faults: [{ message: "broken" }] });
  store.close();
});

test("history of large objects is short, and too large an object is refused", () => {
  const store = openStore(join(dir, "db"), raise);
  let large = store.put(KEY, make("large"), undefined);
  const start = store.version();
  for (let i = 0; i < 30; i++)
    large = large && store.put(KEY, make("large", { i: String(i).repeat(1_400_000 / String(i).length) }), large);
  expect(store.table(KEY).since(start)).toBeUndefined();
  expect(store.table(KEY).since(store.version() - 1)).toHaveLength(1);
  expect(() => store.put(KEY, make("huge", { a: "x".repeat(4_000_000) }), undefined)).toThrow(/too large/);
  expect(store.table(KEY).find("ns", "huge")).toBeUndefined();
  store.close();
});

test("a damaged file and a damaged row are named, and nothing of them is quoted", () => {
  const path = join(dir, "db");
  writeFileSync(path, "no database at all, but long enough to be looked at".repeat(100));
  expect(() => openStore(path, raise)).toThrow(/database .* cannot be used: .*remove it to start empty/);
  rmSync(path);
  openStore(path, raise).close();
  const database = new DatabaseSync(path);
  database.exec("INSERT INTO object VALUES ('/secrets', 'ns', 's', 200, '{\"data\": hunter2')");
  database.close();
  expect(() => openStore(path, raise)).toThrow("the stored /secrets ns/s is damaged");
});

test("a database that another process uses is never to be removed", () => {
  const path = join(dir, "db");
  const first = openStore(path, raise);
  expect(() => openStore(path, raise)).toThrow(
    `the database ${path} cannot be used: another process uses it. Stop that one, then start again`,
  );
  first.close();
});

const noDisk = whyNoSmallDisk();

test.skipIf(noDisk)("a full disk refuses writes with 507, serves reads, keeps Leases, and ends by itself", () => {
  const disk = mountSmallDisk(8);
  try {
    const store = openStore(join(disk.dir, "db"), raise);
    const kept = store.put(KEY, make("kept"), undefined);
    disk.fill();
    const status = (write: () => unknown) => {
      try {
        write();
        return "stored";
      } catch (error) {
        return error instanceof StatusError ? error.body : error;
      }
    };
    const full = { code: 507, reason: "InsufficientStorage", message: expect.stringContaining("disk") as string };
    const data = { x: "x".repeat(100_000) };
    expect(status(() => store.put(KEY, make("large", data), undefined))).toMatchObject(full);
    expect(status(() => kept && store.put(KEY, make("kept", data), kept))).toMatchObject(full);
    expect(status(() => kept && store.remove(KEY, kept))).toMatchObject(full);
    expect(
      store
        .table(KEY)
        .list()
        .map(({ metadata }) => metadata.name),
    ).toEqual(["kept"]);
    const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "l", namespace: "ns" } };
    const held = store.put("coordination.k8s.io/leases", { ...lease, spec: data }, undefined);
    expect(held).toBeDefined();
    disk.free();
    expect(status(() => store.put(KEY, make("later"), undefined))).toBe("stored");
    expect(kept && store.remove(KEY, kept)).toBeDefined();
    store.close();
    const again = openStore(join(disk.dir, "db"), raise);
    expect(again.table(KEY).list()).toHaveLength(1);
    disk.fill();
    expect(() => openStore(join(disk.dir, "other"), raise)).toThrow(/its disk is full. Free some space/);
    again.close();
  } finally {
    disk.unmount();
  }
});
