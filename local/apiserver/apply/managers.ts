// `metadata.managedFields` as a map from manager to the paths it owns, and back.
import type { ManagedFieldsEntry } from "../../../kube/api/object.ts";
import { decodeSet, encodeSet, type FieldSet, isEmpty, union } from "./field-set.ts";

export interface Manager {
  name: string;
  operation: "Apply" | "Update";
  apiVersion: string;
  subresource: string;
  time?: string;
  set: FieldSet;
}

/** By identity: appliers keep one entry across versions, updaters have one for each. */
export type Managers = Map<string, Manager>;

const UPDATERS = 10;
const ANCIENT = "ancient-changes";

export function identityOf(manager: Pick<Manager, "name" | "operation" | "apiVersion" | "subresource">): string {
  return JSON.stringify([
    manager.name,
    manager.operation,
    manager.operation === "Apply" ? "" : manager.apiVersion,
    manager.subresource,
  ]);
}

/** Entries that cannot be read make the whole field void, as kube-apiserver does. */
export function decodeManagers(entries: ManagedFieldsEntry[] | undefined): Managers {
  const managers: Managers = new Map();
  for (const entry of entries ?? []) {
    if (
      (entry.operation !== "Apply" && entry.operation !== "Update") ||
      !entry.apiVersion ||
      entry.fieldsType !== "FieldsV1"
    )
      return new Map();
    const manager: Manager = {
      name: entry.manager ?? "",
      operation: entry.operation,
      apiVersion: entry.apiVersion,
      subresource: entry.subresource ?? "",
      time: entry.time,
      set: decodeSet(entry.fieldsV1),
    };
    managers.set(identityOf(manager), manager);
  }
  return managers;
}

/** Sorted as kube-apiserver prints them: appliers first, then by time and name. Undefined when there are none. */
export function encodeManagers(managers: Pick<Managers, "values">): ManagedFieldsEntry[] | undefined {
  const entries = [...managers.values()]
    .filter((manager) => !isEmpty(manager.set))
    .sort(inOrder)
    .map((manager): ManagedFieldsEntry => ({
      ...(manager.name && { manager: manager.name }),
      operation: manager.operation,
      apiVersion: manager.apiVersion,
      ...(manager.time && { time: manager.time }),
      fieldsType: "FieldsV1",
      fieldsV1: encodeSet(manager.set),
      ...(manager.subresource && { subresource: manager.subresource }),
    }));
  return entries.length > 0 ? entries : undefined;
}

function inOrder(a: Manager, b: Manager): number {
  const left = [a.operation, a.time ?? "", a.name, a.apiVersion, a.subresource];
  const right = [b.operation, b.time ?? "", b.name, b.apiVersion, b.subresource];
  for (let i = 0; i < left.length; i++) if (left[i] !== right[i]) return (left[i] ?? "") < (right[i] ?? "") ? -1 : 1;
  return 0;
}

/** Folds the oldest updaters of one version into one entry, so that the field stays small. */
export function capUpdaters(managers: Managers): void {
  const updaters = [...managers]
    .filter(([, manager]) => manager.operation === "Update")
    .sort(([, a], [, b]) => inOrder(a, b));
  let count = updaters.length;
  const firsts = new Map<string, string>();
  for (const [id, manager] of updaters) {
    if (count <= UPDATERS) return;
    const first = firsts.get(manager.apiVersion);
    if (first === undefined) {
      firsts.set(manager.apiVersion, id);
      continue;
    }
    const bucket: Manager = {
      name: ANCIENT,
      operation: "Update",
      apiVersion: manager.apiVersion,
      subresource: "",
      set: manager.set,
    };
    const bucketId = identityOf(bucket);
    const base = managers.get(bucketId) ?? managers.get(first);
    if (base) bucket.set = union(base.set, manager.set);
    if (!managers.has(bucketId)) managers.delete(first);
    managers.delete(id);
    managers.set(bucketId, { ...bucket, time: manager.time });
    count -= 1;
  }
}
