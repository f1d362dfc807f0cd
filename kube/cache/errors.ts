// Errors of cached reads. They separate "does not exist" from "cannot be read now".
import type { ObjectKey } from "../api/object.ts";
import type { ParkReason } from "./reader.ts";

/** The cache has not completed its first list. Retry later; never treat this as "empty". */
export class NotSynced extends Error {
  readonly resource: string;
  constructor(resource: string, namespace?: string) {
    super(`${resource}${inNamespace(namespace)} is not synced yet`);
    this.name = "NotSynced";
    this.resource = resource;
  }
}

/** The result of `read`, or undefined while the cache is not synced. For callers that run again after the sync. */
export function ifSynced<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof NotSynced) return undefined;
    throw error;
  }
}

/** The watch is parked; never treat this as "empty". `namespace` is set when only that namespace is parked. */
export class NotPermitted extends Error {
  readonly resource: string;
  readonly reason: ParkReason;
  readonly namespace: string | undefined;
  constructor(resource: string, reason: ParkReason, namespace?: string) {
    super(PARK_MESSAGES[reason](`${resource}${inNamespace(namespace)}`));
    this.name = "NotPermitted";
    this.resource = resource;
    this.reason = reason;
    this.namespace = namespace;
  }
}

/** Whether a cache could not be read: an answer may come later. */
export function isUnreadable(error: unknown): error is NotSynced | NotPermitted {
  return error instanceof NotSynced || error instanceof NotPermitted;
}

/** The result of `read`, or undefined while the cache is not synced or may not be read. */
export function ifReadable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (isUnreadable(error)) return undefined;
    throw error;
  }
}

const PARK_MESSAGES: Record<ParkReason, (what: string) => string> = {
  Forbidden: (what) => `this platform may not list and watch ${what}; it resumes by itself when both are granted`,
  Unauthorized: (what) => `the API server rejects this platform's credential for list and watch of ${what}`,
  NoKind: (what) => `the API server does not serve ${what}`,
};

function inNamespace(namespace: string | undefined): string {
  return namespace ? ` in namespace ${namespace}` : "";
}

/** The program reads a kind that it never passed to `ensure`: a programming error. */
export class NotWatched extends Error {
  readonly resource: string;
  constructor(resource: string, hint = "call ensure for it first") {
    super(`${resource} is not watched: ${hint}`);
    this.name = "NotWatched";
    this.resource = resource;
  }
}

/** `get` found no such object in a synced cache. */
export class NotInCache extends Error {
  readonly resource: string;
  readonly key: ObjectKey;
  constructor(resource: string, key: ObjectKey) {
    super(`${resource} ${key.namespace ? `${key.namespace}/` : ""}${key.name} does not exist`);
    this.name = "NotInCache";
    this.resource = resource;
    this.key = key;
  }
}
