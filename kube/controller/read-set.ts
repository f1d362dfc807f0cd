// Whether what a reconcile has read is still so on the server. Asked before a child is deleted, or written again after somebody else undid it:
// a replica whose watch has gone silent would otherwise fight the others for as long as it does not notice.
import pLimit from "p-limit";
import type { KubeClient } from "../client/client.ts";
import { keyOf, type KubeObject, type ObjectKey } from "../api/object.ts";
import type { Reader } from "../cache/reader.ts";
import { NotSynced } from "../cache/errors.ts";
import { resourceId, type ResourceRef } from "../api/resource-ref.ts";

export interface ReadSet {
  /** Reads as the given reader does, and remembers what was read by key. Lists and indexes are not remembered. */
  read: Reader;
  /** Remembers an object that was not read here, or that we have written since. */
  add<T extends KubeObject>(ref: ResourceRef<T>, object: T): void;
  /** One live read for each object remembered; asked once, and answered within CONFIRM_MS. @throws NotSynced when one is not as it was read, KubeError */
  verify(): Promise<void>;
}

interface RecordedRead {
  ref: ResourceRef;
  key: ObjectKey;
  resourceVersion: string | undefined;
}

const VERIFY_TIMEOUT_MS = 10_000;
const CONCURRENCY = 8;

/** Inputs of one reconcile. */
export function createReadSet(read: Reader, client: KubeClient): ReadSet {
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
    if (live?.metadata.resourceVersion !== resourceVersion) throw new NotSynced(resourceId(ref), key.namespace);
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
      // What is absent is remembered too, before that is thrown.
      get: (ref, key) => record(ref, key, read.find(ref, key)) ?? read.get(ref, key),
    },
    add: (ref, object) => void record(ref, object.metadata, object),
    verify: () => (verification ??= checkAll()),
  };
}
