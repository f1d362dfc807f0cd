// The one store: objects of every resource in memory, each change numbered by one counter and durable before anybody sees it.
import type { KubeObject } from "../../../kube/object.ts";
import { openDatabase } from "./database.ts";
import { createTable, type HistoryEntry, type Table, type WritableTable } from "./table.ts";

export interface Store {
  /** The version of the last change. */
  version(): number;
  /** @param resource `<group>/<plural>`. Made on first use. */
  table(resource: string): Table;
  /** Names of the resources that have or had objects. */
  resources(): string[];
  /**
   * Stores `object` in place of `current` and gives it its version; undefined when somebody else was quicker
   * (`current` is no longer the stored one). The object belongs to the store from then on.
   */
  put(resource: string, object: KubeObject, current: KubeObject | undefined): KubeObject | undefined;
  /** As put, for a deletion. Returns the last state, with the deletion's version. */
  remove(resource: string, current: KubeObject): KubeObject | undefined;
  /** Every change of every resource, after the resource's own subscribers. */
  subscribe(onChange: (resource: string, entry: HistoryEntry) => void): () => void;
  close(): void;
}

/** Clients name version 1 for "long ago": it is never one of ours. */
const FIRST_VERSION = 100;

const texts = new WeakMap<object, string>();

/** The JSON of a stored object, made once per object. */
export function jsonOf(object: object): string {
  let text = texts.get(object);
  if (text === undefined) texts.set(object, (text = JSON.stringify(object)));
  return text;
}

/** A copy that may be changed. */
export function copyOf<T extends object>(object: T): T {
  return JSON.parse(jsonOf(object)) as T;
}

/** Opens the store in a SQLite file. */
export function openStore(path: string): Store {
  const database = openDatabase(path);
  const { version: last, rows } = database.load();
  const tables = new Map<string, WritableTable>();
  const subscribers = new Set<(resource: string, entry: HistoryEntry) => void>();
  let version = Math.max(last, FIRST_VERSION);

  function table(resource: string): WritableTable {
    let found = tables.get(resource);
    if (!found) tables.set(resource, (found = createTable(opened)));
    return found;
  }
  const opened = version;
  for (const row of rows) {
    const object = JSON.parse(row.json) as KubeObject;
    texts.set(object, row.json);
    table(row.resource).load(object);
  }

  function record(resource: string, entry: HistoryEntry): void {
    table(resource).record(entry);
    for (const subscriber of [...subscribers]) subscriber(resource, entry);
  }

  return {
    version: () => version,
    table,
    resources: () => [...tables.keys()],
    put(resource, object, current) {
      const { namespace = "", name } = object.metadata;
      const into = table(resource);
      if (into.find(namespace, name) !== current) return undefined;
      const next = version + 1;
      object.metadata.resourceVersion = String(next);
      database.put({ resource, namespace, name, version: next, json: jsonOf(object) });
      version = next;
      record(resource, current ? { type: "MODIFIED", object, oldObject: current, version } : { type: "ADDED", object, version });
      return object;
    },
    remove(resource, current) {
      const { namespace = "", name } = current.metadata;
      const from = table(resource);
      if (from.find(namespace, name) !== current) return undefined;
      const next = version + 1;
      const object = { ...current, metadata: { ...current.metadata, resourceVersion: String(next) } };
      database.remove({ resource, namespace, name }, next);
      version = next;
      record(resource, { type: "DELETED", object, oldObject: current, version });
      return object;
    },
    subscribe(onChange) {
      subscribers.add(onChange);
      return () => subscribers.delete(onChange);
    },
    close: () => database.close(),
  };
}
