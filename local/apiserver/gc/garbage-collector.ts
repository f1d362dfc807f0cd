// Deletes objects without owners, and carries out foreground and orphan deletion.
import type { KubeObject, OwnerReference } from "../../../kube/api/object.ts";
import type { Core } from "../registry/core.ts";
import { edit, removeAsSystem, typeOfKey } from "../registry/system.ts";
import { StatusError } from "../status.ts";
import { indexOwners, type Owners, type Place } from "./owners.ts";
import { createWorkQueue } from "./work-queue.ts";

const FOREGROUND = "foregroundDeletion";
const ORPHAN = "orphan";

/** Starts collecting, leftovers of an earlier run included. Returns the function that stops it. */
export function collectGarbage(core: Core, onError: (error: unknown) => void): () => void {
  const queue = createWorkQueue((uid) => settle(core, owners, uid), onError);
  const owners: Owners = indexOwners(core.store, (uid) => queue.add(uid));
  for (const storageKey of core.store.resources()) {
    for (const { metadata } of core.store.table(storageKey).list())
      if (metadata.deletionTimestamp || metadata.ownerReferences) queue.add(metadata.uid ?? "");
  }
  return () => {
    owners.stop();
    queue.stop();
  };
}

const at = (core: Core, place: Place): KubeObject | undefined =>
  core.store.table(place.storageKey).find(place.namespace, place.name);

async function settle(core: Core, owners: Owners, uid: string): Promise<void> {
  const place = owners.find(uid);
  const object = place && at(core, place);
  if (!place || !object || object.metadata.uid !== uid) {
    for (const dependent of owners.dependents(uid)) await settlePlace(core, owners, dependent);
    return;
  }
  const asked = object.metadata.deletionTimestamp ? (object.metadata.finalizers ?? []) : [];
  if (asked.includes(ORPHAN)) return orphan(core, owners, place, uid);
  if (asked.includes(FOREGROUND)) return deleteInForeground(core, owners, place, uid);
  await settlePlace(core, owners, place);
}

/** Deletes an object without a living owner; drops references to dead ones when another owner lives. */
async function settlePlace(core: Core, owners: Owners, place: Place): Promise<void> {
  const object = at(core, place);
  const references = object?.metadata.ownerReferences ?? [];
  if (!object || references.length === 0) return;
  const dead = references.filter((reference) => !isAlive(core, owners, object, reference));
  if (dead.length === 0) return;
  if (dead.length < references.length)
    return dropReferences(core, place, new Set(dead.map((reference) => reference.uid)));
  const type = typeOfKey(core, place.storageKey);
  if (type && !object.metadata.deletionTimestamp)
    await unlessGone(() =>
      removeAsSystem(core, type, object, {
        preconditions: { uid: object.metadata.uid },
        propagationPolicy: "Background",
      }),
    );
}

/** An owner counts when it exists under this uid, in the same namespace or cluster-scoped. */
function isAlive(core: Core, owners: Owners, object: KubeObject, reference: OwnerReference): boolean {
  const place = owners.find(reference.uid);
  const owner = place && at(core, place);
  return (
    owner !== undefined &&
    owner.metadata.uid === reference.uid &&
    (place?.namespace === "" || place?.namespace === object.metadata.namespace)
  );
}

async function orphan(core: Core, owners: Owners, place: Place, uid: string): Promise<void> {
  for (const dependent of owners.dependents(uid)) await dropReferences(core, dependent, new Set([uid]));
  await dropFinalizer(core, place, ORPHAN);
}

async function deleteInForeground(core: Core, owners: Owners, place: Place, uid: string): Promise<void> {
  let blocked = false;
  for (const dependent of owners.dependents(uid)) {
    const object = at(core, dependent);
    const type = typeOfKey(core, dependent.storageKey);
    if (!object || !type) continue;
    if (!object.metadata.deletionTimestamp)
      await unlessGone(() =>
        removeAsSystem(core, type, object, {
          preconditions: { uid: object.metadata.uid },
          propagationPolicy: "Foreground",
        }),
      );
    const blocks = object.metadata.ownerReferences?.some(
      (reference) => reference.uid === uid && reference.blockOwnerDeletion === true,
    );
    if (blocks && at(core, dependent)?.metadata.uid === object.metadata.uid) blocked = true;
  }
  if (!blocked) await dropFinalizer(core, place, FOREGROUND);
}

async function dropReferences(core: Core, place: Place, uids: Set<string>): Promise<void> {
  const type = typeOfKey(core, place.storageKey);
  if (!type) return;
  await unlessGone(() =>
    edit(core, type, place, (object) => {
      const rest = (object.metadata.ownerReferences ?? []).filter((reference) => !uids.has(reference.uid));
      if (rest.length > 0) object.metadata.ownerReferences = rest;
      else delete object.metadata.ownerReferences;
    }),
  );
}

async function dropFinalizer(core: Core, place: Place, finalizer: string): Promise<void> {
  const type = typeOfKey(core, place.storageKey);
  if (!type) return;
  await unlessGone(() =>
    edit(core, type, place, (object) => {
      object.metadata.finalizers = (object.metadata.finalizers ?? []).filter((name) => name !== finalizer);
      if (object.metadata.finalizers.length === 0) delete object.metadata.finalizers;
    }),
  );
}

/** Somebody else deleting it first is as good. */
export async function unlessGone(act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    const isGone =
      error instanceof StatusError &&
      (error.body.code === 404 || (error.body.code === 409 && /Precondition/.test(error.message)));
    if (!isGone) throw error;
  }
}
