// Field ownership of the scale subresource: the managedFields entries that own the replicas, as a Scale shows them, and back.
import type { ManagedFieldsEntry } from "../../../kube/api/object.ts";
import { difference, type FieldSet, setOf } from "../apply/field-set.ts";
import { decodeManagers, encodeManagers, type Manager, type Managers } from "../apply/managers.ts";

const SCALE_VERSION = "autoscaling/v1";
const REPLICAS = ["spec", "replicas"];

function owns(set: FieldSet, path: string[]): boolean {
  const [last, ...holders] = path.toReversed();
  const holder = holders.toReversed().reduce<FieldSet | undefined>((at, name) => at?.children.get(`f:${name}`), set);
  return holder?.members.has(`f:${last}`) === true;
}

/** The entries that own the replicas at `path`, as entries of a Scale. */
export function toScaleFields(
  entries: ManagedFieldsEntry[] | undefined,
  path: string[],
): ManagedFieldsEntry[] | undefined {
  const managers: Managers = new Map();
  for (const [id, manager] of decodeManagers(entries)) {
    if (owns(manager.set, path)) managers.set(id, { ...manager, apiVersion: SCALE_VERSION, set: setOf(REPLICAS) });
  }
  return encodeManagers(managers);
}

/**
 * Effect of a written Scale's entries on the object: who is not among them loses the replicas, who is new gets them.
 * kube-apiserver takes the entry of an updater for another one here, since its version differs, so it comes twice and without its time.
 */
export function toParentFields(
  entries: ManagedFieldsEntry[] | undefined,
  scaled: ManagedFieldsEntry[] | undefined,
  { path, apiVersion }: { path: string[]; apiVersion: string },
): ManagedFieldsEntry[] | undefined {
  const owners = decodeManagers(scaled);
  const managers: Manager[] = [];
  for (const [id, manager] of decodeManagers(entries)) {
    if (!owns(manager.set, path) || owners.delete(id)) managers.push(manager);
    else managers.push({ ...manager, set: difference(manager.set, setOf(path)) });
  }
  for (const owner of owners.values()) {
    const { time: _time, ...manager } = { ...owner, apiVersion, set: setOf(path) };
    if (owns(owner.set, REPLICAS)) managers.push(manager);
  }
  return encodeManagers(managers);
}
