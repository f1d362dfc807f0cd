// Whether what a reconcile has read is still so on the server. Asked before a child is deleted, or written again after somebody else undid it:
// a replica whose watch has gone silent would otherwise fight the others for as long as it does not notice.
import pLimit from "p-limit";
import type { KubeClient } from "../client/client.ts";
import { keyOf, type KubeObject, type ObjectKey } from "../api/object.ts";
import { NotSynced, type Reader } from "../cache/reader.ts";
import { resourceId, type ResourceRef } from "../api/resource-ref.ts";

export interface Inputs {
  /** Reads as the given reader does, and remembers what was read by key. Lists and indexes are not remembered. */
  read: Reader;
  /** Remembers an object that was not read here, or that we have written since. */
  note<T extends KubeObject>(ref: ResourceRef<T>, object: T): void;
  /** One live read for each object remembered; asked once, and answered within CONFIRM_MS. @throws NotSynced when one is not as it was read, KubeError */
  confirm(): Promise<void>;
}

interface Seen {
  ref: ResourceRef;
  key: ObjectKey;
  resourceVersion: string | undefined;
}

const CONFIRM_MS = 10_000;
const CONCURRENCY = 8;

/** Inputs of one reconcile. */
export function recordInputs(read: Reader, client: KubeClient): Inputs {
  const seen = new Map<string, Seen>();
  let confirmed: Promise<void> | undefined;
  const keep = <T extends KubeObject>(ref: ResourceRef<T>, key: ObjectKey, object: T | undefined): T | undefined => {
    seen.set(`${resourceId(ref)} ${keyOf(key)}`, { ref, key: { ...(key.namespace && { namespace: key.namespace }), name: key.name }, resourceVersion: object?.metadata.resourceVersion });
    return object;
  };
  const check = async ({ ref, key, resourceVersion }: Seen, deadline: number): Promise<void> => {
    const live = await client.find(ref, key, { deadlineMs: Math.max(1, deadline - performance.now()) });
    if (live?.metadata.resourceVersion !== resourceVersion) throw new NotSynced(resourceId(ref), key.namespace);
  };
  const checkAll = async (): Promise<void> => {
    const limit = pLimit(CONCURRENCY);
    const deadline = performance.now() + CONFIRM_MS;
    await Promise.all([...seen.values()].map((one) => limit(() => check(one, deadline))));
  };
  return {
    read: {
      ...read,
      find: (ref, key) => keep(ref, key, read.find(ref, key)),
      // What is absent is remembered too, before that is thrown.
      get: (ref, key) => keep(ref, key, read.find(ref, key)) ?? read.get(ref, key),
    },
    note: (ref, object) => void keep(ref, object.metadata, object),
    confirm: () => (confirmed ??= checkAll()),
  };
}
