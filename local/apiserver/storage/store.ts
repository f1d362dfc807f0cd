// The one store: objects of every resource in memory, each change numbered by one counter and durable before anybody sees it.
import type { KubeObject } from "../../../kube/api/object.ts";
import { isDiskFull } from "../../../kube/server/disk-full.ts";
import { diskFull, failure } from "../status.ts";
import { openDatabase, type Row } from "./database.ts";
import type { HistoryEntry } from "./history.ts";
import { createTable, type Table, type WritableTable } from "./table.ts";

export interface Store {
  /** The version of the last change. */
  version(): number;
  /** @param resource `<group>/<plural>`. Made on first use. */
  table(resource: string): Table;
  /** Names of the resources that have or had objects. */
  resources(): string[];
  /**
   * Stores `object` in place of `current` and gives it its version; undefined after a conflicting write
   * (`current` is no longer the stored one). The object belongs to the store from then on.
   * @throws StatusError 500 when it is too large, as kube-apiserver does; 507 when the disk is full
   */
  put(resource: string, object: KubeObject, current: KubeObject | undefined): KubeObject | undefined;
  /** As put, for a deletion. Returns the last state, with the deletion's version. */
  remove(resource: string, current: KubeObject): KubeObject | undefined;
  /** Every change of every resource, after the resource's own subscribers. */
  subscribe(onChange: (resource: string, entry: HistoryEntry) => void): () => void;
  close(): void;
}

/** Characters of JSON that one object may have: what etcd takes, so that nothing works here that fails on a cluster. */
const OBJECT_LIMIT = 1.5 * 1024 * 1024;

/** Clients name version 1 for "long ago": it is never one of ours. */
const FIRST_VERSION = 100;

const texts = new WeakMap<object, string>();

/**
 * Heartbeats: their holders go on while the disk is full, since a later renewal is stored again. Only liveness depends on them,
 * and a holder that restarts takes a new one.
 */
const MEMORY_SUFFICES = "coordination.k8s.io/leases";

/** Writes to the database. @throws StatusError 507 when the disk is full */
function persist(resource: string, write: () => void, canStayInMemory: boolean): void {
  try {
    write();
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    if (!(canStayInMemory && resource === MEMORY_SUFFICES)) throw diskFull();
  }
}

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

function parseRow({ resource, namespace, name, json }: Row): KubeObject {
  try {
    return JSON.parse(json) as KubeObject;
  } catch {
    // Without the cause: it quotes what may be a Secret.
    throw new Error(`the stored ${resource} ${namespace ? `${namespace}/` : ""}${name} is damaged`);
  }
}

/** Calls a subscriber; an exception goes to `onFault`. */
function guarded(onFault: (error: unknown) => void): (subscriber: () => void) => void {
  return (subscriber) => {
    try {
      subscriber();
    } catch (error) {
      onFault(error);
    }
  };
}

/** Opens the store in a SQLite file. @param onFault called when a subscriber throws: the write stays, and the other subscribers are called. */
export function openStore(path: string, onFault: (error: unknown) => void): Store {
  const database = openDatabase(path);
  const notify = guarded(onFault);
  const { version: last, rows } = database.load();
  const tables = new Map<string, WritableTable>();
  const subscribers = new Set<(resource: string, entry: HistoryEntry) => void>();
  let version = Math.max(last, FIRST_VERSION);

  function table(resource: string): WritableTable {
    let found = tables.get(resource);
    if (!found) tables.set(resource, (found = createTable(opened, notify)));
    return found;
  }
  const opened = version;
  for (const row of rows) {
    const object = parseRow(row);
    texts.set(object, row.json);
    table(row.resource).load(object);
  }

  function record(resource: string, entry: HistoryEntry): void {
    table(resource).record(entry, jsonOf(entry.oldObject ?? entry.object).length);
    for (const subscriber of [...subscribers]) notify(() => subscriber(resource, entry));
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
      const json = jsonOf(object);
      if (json.length > OBJECT_LIMIT) throw failure(500, "", "etcdserver: request is too large");
      persist(resource, () => database.put({ resource, namespace, name, version: next, json }), true);
      version = next;
      record(
        resource,
        current ? { type: "MODIFIED", object, oldObject: current, version } : { type: "ADDED", object, version },
      );
      return object;
    },
    remove(resource, current) {
      const { namespace = "", name } = current.metadata;
      const from = table(resource);
      if (from.find(namespace, name) !== current) return undefined;
      const next = version + 1;
      const object = { ...current, metadata: { ...current.metadata, resourceVersion: String(next) } };
      persist(resource, () => database.remove({ resource, namespace, name }, next), false);
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
