// The client of one cluster: interface only. create-client.ts implements it.
import type { Dispatcher } from "undici";
import type { WebSocket } from "ws";
import type { KubeList, KubeObject, ObjectKey, ObjectMeta } from "../api/object.ts";
import type { ResourceRef } from "../api/resource-ref.ts";
import type { Status } from "./errors.ts";

/**
 * The identity of a client. `cert` and `key` are PEM.
 * Impersonation uses the client's own credential, which needs the permission `impersonate`.
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

/** Options of every call. The deadline is 30 s by default, for reads and writes. */
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
  /** Page size; 500 by default. */
  limit?: number;
  /** Return metadata only (PartialObjectMetadata), with the kind's own apiVersion and kind. */
  metadata?: boolean | undefined;
}

export interface WriteOptions extends CallOptions {
  dryRun?: boolean;
  /** The manager in managedFields; the client's default when absent. */
  fieldManager?: string;
  /** Unknown fields: "Strict" rejects them (our default), "Warn", "Ignore". */
  fieldValidation?: "Strict" | "Warn" | "Ignore";
  /** Called with the text of each Warning header of a successful answer. */
  onWarning?: (text: string) => void;
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
  /** Take fields over from other managers. False by default: a conflict is a 409. */
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
  /** Milliseconds without a byte after which the peer is dead (KubeError, code 0). timeoutSeconds plus 30 s by default. */
  stallMs?: number;
  /** Called when the server has accepted the watch. */
  onOpen?: () => void;
  /** As in ListOptions. */
  metadata?: boolean | undefined;
  signal?: AbortSignal;
}

/** A line of a watch, as sent. BOOKMARK objects carry only metadata.resourceVersion. */
export type WatchEvent<T extends KubeObject = KubeObject> =
  | { type: "ADDED" | "MODIFIED" | "DELETED"; object: T }
  | { type: "BOOKMARK"; object: KubeObject }
  | { type: "ERROR"; object: Status };

/** A response whose body the caller must read or destroy (logs, proxies). */
export interface StreamAnswer {
  code: number;
  headers: Record<string, string | string[] | undefined>;
  body: Dispatcher.ResponseData["body"];
}

/** A sent request, for metrics. Never carries a credential or a body. */
export interface RequestRecord {
  method: string;
  path: string;
  /** HTTP status; 0 without a response. */
  code: number;
  milliseconds: number;
  /** 1 for the first attempt. */
  attempt: number;
  /** Sent with another identity than the client's own, by a client that `as` made. */
  isDelegated?: true;
}

/**
 * A cluster, accessed with one identity. All calls throw KubeError and nothing else. Callers may mutate the results.
 * 429 and 503 are retried after the server's Retry-After (default 1 s), within the deadline, at most five attempts.
 */
export interface KubeClient {
  /** Address of the API server, without a trailing slash. */
  readonly server: string;

  /** @throws KubeError NotFound when it does not exist. */
  get<T extends KubeObject>(ref: ResourceRef<T>, key: ObjectKey, options?: CallOptions): Promise<T>;
  /** Returns undefined when the object does not exist. Forbidden throws. */
  find<T extends KubeObject>(ref: ResourceRef<T>, key: ObjectKey, options?: CallOptions): Promise<T | undefined>;
  /** All pages as one list. Every item has apiVersion and kind. */
  list<T extends KubeObject>(ref: ResourceRef<T>, options?: ListOptions): Promise<KubeList<T>>;
  /** Page by page; throws Gone (410) when the continue token expires. */
  pages<T extends KubeObject>(ref: ResourceRef<T>, options?: ListOptions): AsyncIterable<KubeList<T>>;

  /** apiVersion and kind are optional. The namespace comes from the object. */
  create<T extends KubeObject>(ref: ResourceRef<T>, object: Draft, options?: WriteOptions): Promise<T>;
  /** Replaces the object; with metadata.resourceVersion, only that version. */
  update<T extends KubeObject>(ref: ResourceRef<T>, object: Draft, options?: WriteOptions): Promise<T>;
  updateStatus<T extends KubeObject>(ref: ResourceRef<T>, object: Draft, options?: WriteOptions): Promise<T>;
  patch<T extends KubeObject>(ref: ResourceRef<T>, key: ObjectKey, patch: Patch, options?: PatchOptions): Promise<T>;
  /** Server-side apply of exactly the given fields. */
  apply<T extends KubeObject>(ref: ResourceRef<T>, object: Draft, options: ApplyOptions): Promise<T>;
  /** Returns the object while finalizers keep it, else the server's Status. */
  delete<T extends KubeObject>(ref: ResourceRef<T>, key: ObjectKey, options?: DeleteOptions): Promise<T | Status>;

  /** Posts a review (TokenReview, SubjectAccessReview, …) and returns it with its status. */
  review<T extends KubeObject>(ref: ResourceRef<T>, body: { spec?: unknown }, options?: CallOptions): Promise<T>;

  /** A watch connection: ends when the server closes it, throws KubeError when it fails. It never reconnects; see Reflector. */
  watch<T extends KubeObject>(ref: ResourceRef<T>, options?: WatchOptions): AsyncIterable<WatchEvent<T>>;

  /** Any other JSON request. `path` starts with a slash. */
  raw(method: string, path: string, body?: unknown, options?: CallOptions & { contentType?: string }): Promise<unknown>;
  /** Any other request with a streamed response; a status of 400 or more throws. The deadline covers the head only. */
  stream(
    method: string,
    path: string,
    options?: CallOptions & { headers?: Record<string, string>; body?: string | Buffer },
  ): Promise<StreamAnswer>;

  /** Opens a WebSocket, paused until its user listens. `path` starts with a slash. The deadline covers the handshake. */
  webSocket(path: string, protocol: string, options?: CallOptions): Promise<WebSocket>;

  /** The same cluster with another identity, on shared connections; a certificate gets its own, in a bounded LRU. Cheap. */
  as(identity: Identity): KubeClient;
  /** Reads the credential again from its source, after the API server has rejected it. */
  renew(): Promise<void>;
  /** Closes all connections of this client and of clients derived by `as`. */
  close(): Promise<void>;
}

/** An object to write. Its type is loose: the server validates it. */
export interface Draft {
  apiVersion?: string;
  kind?: string;
  metadata: Partial<ObjectMeta>;
  [field: string]: unknown;
}
