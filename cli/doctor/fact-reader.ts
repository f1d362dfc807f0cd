// A client for the facts of `cup doctor --cluster`: every call has a deadline and the signal of the whole reading, every list a bound.
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { KubeClient, ListOptions } from "../../kube/client/client.ts";
import { CouldNotLook } from "./finding.ts";

/** Facts of this machine, as arguments. */
export interface Surroundings {
  now: () => number;
  /** Addresses of a name; rejects when it has none. */
  resolve: (name: string) => Promise<readonly string[]>;
}

export interface FactReader {
  kube: KubeClient;
  call: { signal: AbortSignal; deadlineMs: number };
  surroundings: Surroundings;
  /** All objects, or those of a namespace. @throws CouldNotLook beyond MAX_OBJECTS */
  list<T extends KubeObject>(ref: ResourceRef<T>, options?: ListOptions): Promise<T[]>;
  /** As `list`, each page reduced as it comes. */
  listRows<T extends KubeObject, Row>(
    ref: ResourceRef<T>,
    toRow: (object: T) => Row | undefined,
    options?: ListOptions,
  ): Promise<Row[]>;
}

const CALL_DEADLINE_MS = 15_000;
const MAX_OBJECTS = 100_000;

export function newReader(
  kube: KubeClient,
  { signal, now, resolve }: Surroundings & { signal: AbortSignal },
): FactReader {
  const call = { signal, deadlineMs: CALL_DEADLINE_MS };
  const listRows: FactReader["listRows"] = async (ref, toRow, options = {}) => {
    const rows = [];
    let seen = 0;
    for await (const page of kube.pages(ref, { ...options, ...call })) {
      seen += page.items.length;
      if (seen > MAX_OBJECTS) throw new CouldNotLook(`there are more than ${MAX_OBJECTS} ${ref.plural}`);
      for (const object of page.items) {
        const row = toRow(object);
        if (row !== undefined) rows.push(row);
      }
    }
    return rows;
  };
  return {
    kube,
    call,
    surroundings: { now, resolve },
    listRows,
    list: (ref, options) => listRows(ref, (object) => object, options),
  };
}
