// What a client of one cluster can do. Interface only; create-client.ts makes one.
import type { Dispatcher } from "undici";
import type { KubeList, KubeObject, ObjectKey, ObjectMeta } from "../api/object.ts";
import type { ResourceRef } from "../api/resource-ref.ts";
import type { Status } from "./errors.ts";

/**
 * Whom a client speaks as. `cert` and `key` are PEM.
 * Impersonation is sent with the client's own credential, which must be granted `impersonate`.
 */
export type Identity =
  | { kind: "token"; token: string }
  | { kind: "certificate"; cert: string; key: string }
  | {
      kind: "impersonate";
      user: string;
      uid?: string;
      groups?: readonly string[];
      extra?: Readonly<Record<string, readonly string[]>>;
    }
  | { kind: "anonymous" };

/** Every call: a signal to give up early; the deadline is 30 s unless said. Reads and writes alike. */
export interface CallOptions {
  signal?: AbortSignal;
  deadlineMs?: number;
}

export interface ListOptions extends CallOptions {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  resourceVersion?: string;
  resourceVersionMatch?: "Exact" | "NotOlderThan";
  /** Page size; 500 unless said. */
  limit?: number;
  /** Answer metadata only (PartialObjectMetadata): apiVersion and kind are still the kind's own. */
  metadata?: boolean | undefined;
}

export interface WriteOptions extends CallOptions {
  dryRun?: boolean;
  /** Named in managedFields. The client's own default otherwise. */
  fieldManager?: string;
  /** Unknown fields: "Strict" refuses (our default), "Warn", "Ignore". */
  fieldValidation?: "Strict" | "Warn" | "Ignore";
}

/** `merge` is RFC 7386, `json` is RFC 6902, `strategic` works on built-in kinds only. */
export type Patch =
  | { type: "merge"; body: Record<string, unknown> }
  | { type: "json"; body: readonly Record<string, unknown>[] }
  | { type: "strategic"; body: Record<string, unknown> };

export interface PatchOptions extends WriteOptions {
  subresource?: string;
}

export interface ApplyOptions extends PatchOptions {
  fieldManager: string;
  /** Take fields over from other managers. False unless said: a conflict is a 409. */
  force?: boolean;
}

export interface DeleteOptions extends CallOptions {
  propagationPolicy?: "Background" | "Foreground" | "Orphan";
  preconditions?: { uid?: string; resourceVersion?: string };
  gracePeriodSeconds?: number;
  dryRun?: boolean;
}

export interface WatchOptions {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  resourceVersion?: string;
  allowWatchBookmarks?: boolean;
  timeoutSeconds?: number;
  /** Without a byte for so long the peer counts as dead (KubeError, code 0). timeoutSeconds and 30 s more unless said. */
  stallMs?: number;
  /** The server has accepted the watch. */
  onOpen?: () => void;
  /** As in ListOptions. */
  metadata?: boolean | undefined;
  signal?: AbortSignal;
}

/** One line of a watch, as sent. BOOKMARK objects carry only metadata.resourceVersion. */
export type WatchEvent<T extends KubeObject = KubeObject> =
  | { type: "ADDED" | "MODIFIED" | "DELETED"; object: T }
  | { type: "BOOKMARK"; object: KubeObject }
  | { type: "ERROR"; object: Status };

/** An answer whose body is read by the caller (logs, proxies). The caller must read or destroy the body. */
export interface StreamAnswer {
  code: number;
  headers: Record<string, string | string[] | undefined>;
  body: Dispatcher.ResponseData["body"];
}

/** One request as it was sent and answered, for counters. Never carries a credential or a body. */
export interface RequestRecord {
  method: string;
  path: string;
  /** HTTP status; 0 when there was no answer. */
  code: number;
  milliseconds: number;
  /** 1 for the first try. */
  attempt: number;
}

/**
 * A cluster, seen with one identity. All calls throw KubeError and nothing else. Answers are the caller's own to change.
 * 429 and 503 are retried as the server's Retry-After says (1 s when it does not), within the deadline, five times at most.
 */
export interface KubeClient {
  /** Address of the API server, without a trailing slash. */
  readonly server: string;

  /** @throws KubeError NotFound when it does not exist. */
  get<T extends KubeObject>(ref: ResourceRef<T>, key: ObjectKey, options?: CallOptions): Promise<T>;
  /** undefined when it does not exist. Forbidden still throws. */
  find<T extends KubeObject>(ref: ResourceRef<T>, key: ObjectKey, options?: CallOptions): Promise<T | undefined>;
  /** All pages as one list. apiVersion and kind are filled in on every item. */
  list<T extends KubeObject>(ref: ResourceRef<T>, options?: ListOptions): Promise<KubeList<T>>;
  /** Page by page; throws Gone (410) when the continue token expires on the way. */
  pages<T extends KubeObject>(ref: ResourceRef<T>, options?: ListOptions): AsyncIterable<KubeList<T>>;

  /** apiVersion and kind may be left out. The namespace is the object's own. */
  create<T extends KubeObject>(ref: ResourceRef<T>, object: Draft, options?: WriteOptions): Promise<T>;
  /** Replaces; with metadata.resourceVersion set, only that version. */
  update<T extends KubeObject>(ref: ResourceRef<T>, object: Draft, options?: WriteOptions): Promise<T>;
  updateStatus<T extends KubeObject>(ref: ResourceRef<T>, object: Draft, options?: WriteOptions): Promise<T>;
  patch<T extends KubeObject>(ref: ResourceRef<T>, key: ObjectKey, patch: Patch, options?: PatchOptions): Promise<T>;
  /** Server-side apply of what is given, and nothing else. */
  apply<T extends KubeObject>(ref: ResourceRef<T>, object: Draft, options: ApplyOptions): Promise<T>;
  /** The object as it was last seen, when it stays for finalizers, or the server's Status. */
  delete<T extends KubeObject>(ref: ResourceRef<T>, key: ObjectKey, options?: DeleteOptions): Promise<T | Status>;

  /** Posts a review (TokenReview, SubjectAccessReview, …); the answer carries its status. Never retried beyond 429/503. */
  review<T extends KubeObject>(ref: ResourceRef<T>, body: { spec?: unknown }, options?: CallOptions): Promise<T>;

  /** One watch connection, event by event, until the server ends it (the loop ends) or it fails (KubeError). No reconnects: see Reflector. */
  watch<T extends KubeObject>(ref: ResourceRef<T>, options?: WatchOptions): AsyncIterable<WatchEvent<T>>;

  /** Any other JSON request. `path` starts with a slash. */
  raw(method: string, path: string, body?: unknown, options?: CallOptions & { contentType?: string }): Promise<unknown>;
  /** Any other request whose answer is read as a stream; a status of 400 or more throws. Only the head is under the deadline. */
  stream(
    method: string,
    path: string,
    options?: CallOptions & { headers?: Record<string, string>; body?: string | Buffer },
  ): Promise<StreamAnswer>;

  /** The same cluster with another identity, on the shared connections (a certificate gets its own, kept in a bounded LRU). Cheap. */
  as(identity: Identity): KubeClient;
  /** The API server has refused our credential: read it anew, where it comes from somewhere. */
  renew(): Promise<void>;
  /** Ends all connections of this client and of those made from it by `as`. */
  close(): Promise<void>;
}

/** An object to be written: the type of the kind holds what a server returns, so what is sent is checked by the server. */
export interface Draft {
  apiVersion?: string;
  kind?: string;
  metadata: Partial<ObjectMeta>;
  [field: string]: unknown;
}
