// The objects that one reconcile has read, and a live check that they are current. It runs before a child is deleted or rewritten after
// another writer's change: otherwise a replica with a dead watch would fight the others until it notices.
import pLimit from "p-limit";
import type { KubeClient } from "../client/client.ts";
import { keyOf, type KubeObject, type ObjectKey } from "../api/object.ts";
import type { Reader } from "../cache/reader.ts";
import { NotSynced } from "../cache/errors.ts";
import { resourceId, type ResourceRef } from "../api/resource-ref.ts";

export interface ReadSet {
  /** The given reader; records reads by key, but not lists and indexes. */
  read: Reader;
  /** Records an object that was read elsewhere, or that we have written since. */
  add<T extends KubeObject>(ref: ResourceRef<T>, object: T): void;
  /** Reads every recorded object from the API server, once, within VERIFY_TIMEOUT_MS. @throws NotSynced when one has changed, KubeError */
  verify(): Promise<void>;
}

interface RecordedRead {
  ref: ResourceRef;
  key: ObjectKey;
  resourceVersion: string | undefined;
}

const VERIFY_TIMEOUT_MS = 10_000;
const CONCURRENCY = 8;

/** Whether the cache of this kind would hold the object: some hold a selection of labels. */
export type IsCached = (ref: ResourceRef, object: KubeObject) => boolean;

/** A new one for each reconcile. */
export function createReadSet(read: Reader, client: KubeClient, isCached: IsCached = () => true): ReadSet {
  const reads = new Map<string, RecordedRead>();
  let verification: Promise<void> | undefined;
  const record = <T extends KubeObject>(ref: ResourceRef<T>, key: ObjectKey, object: T | undefined): T | undefined => {
    reads.set(`${resourceId(ref)} ${keyOf(key)}`, {
      ref,
      key: { ...(key.namespace && { namespace: key.namespace }), name: key.name },
      resourceVersion: object?.metadata.resourceVersion,
    });
    return object;
  };
  const check = async ({ ref, key, resourceVersion }: RecordedRead, deadline: number): Promise<void> => {
    const live = await client.find(ref, key, { deadlineMs: Math.max(1, deadline - performance.now()) });
    const seen = live && isCached(ref, live) ? live : undefined;
    if (seen?.metadata.resourceVersion !== resourceVersion) throw new NotSynced(resourceId(ref), key.namespace);
  };
  const checkAll = async (): Promise<void> => {
    const limit = pLimit(CONCURRENCY);
    const deadline = performance.now() + VERIFY_TIMEOUT_MS;
    await Promise.all([...reads.values()].map((one) => limit(() => check(one, deadline))));
  };
  return {
    read: {
      ...read,
      find: (ref, key) => record(ref, key, read.find(ref, key)),
      // Record an absent object before `get` throws.
      get: (ref, key) => record(ref, key, read.find(ref, key)) ?? read.get(ref, key),
    },
    add: (ref, object) => void record(ref, object.metadata, object),
    verify: () => (verification ??= checkAll()),
  };
}
