// Reads and writes with the caller's rights. Reads are answered from memory; writes go to Kubernetes as the caller, and are seen here before they are answered.
import type { Draft, KubeClient, Patch } from "../../kube/client/client.ts";
import { objectKey, type KubeObject } from "../../kube/api/object.ts";
import type { Store } from "../../kube/cache/reader.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Asked } from "./rbac-authorizer.ts";
import { createRights, type Rights, type RightsDeps } from "./caller-permissions.ts";
import { holdsName } from "./name-claims.ts";
import { type CFError, notAuthorized, notFound } from "../http/errors.ts";
import type { Permission } from "../http/endpoint.ts";
import type { Caller } from "../identity/caller.ts";
import { requireActive } from "./suspension.ts";
import { wordFor } from "../cf/kind-title.ts";
import type { Replicas } from "../peers/peer-group.ts";
import { sessionWrites } from "./session-writes.ts";
import type { View } from "../cache/cluster-cache.ts";

export interface SessionDeps {
  view: View;
  /** The platform's own identity: reads for nobody, writes claims and what a caller may not touch directly. */
  platform: KubeClient;
  replicas: Pick<Replicas, "written" | "share">;
  now: () => Date;
  /** Where rights are reviewed by the cluster's authorizers; undefined where RBAC alone decides. */
  review?: RightsDeps["review"];
}

/** Narrows a list to a few namespaces, or to what an index files under a value. */
export type Within = { namespaces?: readonly string[]; index?: readonly [name: string, value: string] };

export interface Session {
  readonly caller: Caller;
  readonly view: View;
  /** The platform's own client. Only for claims, and for Secrets after `allows` said yes. */
  readonly platform: KubeClient;
  readonly signal: AbortSignal;
  readonly now: () => Date;
  /** Whether equal lists are equal until an object or RBAC changes. */
  readonly lasting: boolean;
  /** Runs the handler until every right it asks for is known (caller-rights.ts); `discard` gets answers that do not count. */
  settled: Rights["settled"];
  /** Whether the caller is allowed this. */
  allows(asked: Asked): boolean;
  /** Throws 403 unless `allows`. */
  require(asked: Asked): void;
  /** Whether the caller may get this object, and it is in force. */
  sees(ref: ResourceRef, object: KubeObject): boolean;
  /** The object with that GUID if the caller sees it. */
  find<T extends KubeObject>(ref: ResourceRef<T>, guid: string): T | undefined;
  /** Also requires the rights that the endpoint declares on objects of this kind. @throws CFError `<Kind> not found`, or 403 */
  get<T extends KubeObject>(ref: ResourceRef<T>, guid: string): T;
  /** All the caller sees, in no order. */
  list<T extends KubeObject>(ref: ResourceRef<T>, within?: Within): T[];
  /** Creates as the caller. Kinds with unique names are claimed first; `taken` makes the loser's error. */
  create<T extends KubeObject>(ref: ResourceRef<T>, draft: Draft, taken?: () => CFError): Promise<T>;
  /** Patches as the caller. Give `renamed` (the object as it will be) when that changes the CF name. */
  patch<T extends KubeObject>(ref: ResourceRef<T>, object: T, patch: Patch, renamed?: { to: T; taken: () => CFError }): Promise<T>;
  /**
   * Read, modify, write: `body` makes the merge patch from the object as it is (undefined: nothing to do). The version goes along; when somebody was
   * quicker it is made again from the newer object, a few times.
   */
  change<T extends KubeObject>(ref: ResourceRef<T>, object: T, body: (current: T) => Record<string, unknown> | undefined): Promise<T>;
  /** Deletes as the caller; returns once the object is gone or terminating at every replica, or none answers before it is. */
  remove(ref: ResourceRef, object: KubeObject): Promise<void>;
  /** To be called before answering with what others have written: all replicas have then seen of these kinds what this one has. */
  share(refs: readonly ResourceRef[]): Promise<void>;
}

/** What one request brings to its session. `permission` is the endpoint's. */
export interface SessionRequest {
  caller: Caller;
  signal: AbortSignal;
  permission: Permission;
  /** Whether it may change anything: it is no GET. */
  writes: boolean;
}

/** A session of one request. */
export function createSession(deps: SessionDeps, request: SessionRequest): Session {
  const { caller } = request;
  const rights = createRights({ authorization: deps.view.authorization, review: deps.review }, request);
  const reads = sessionReads(deps, request, rights);
  // A connection as the caller is for those who write: most requests only read.
  let own: KubeClient | undefined;
  const writes = sessionWrites({
    ...reads,
    replicas: deps.replicas,
    rights,
    get platform() {
      rights.commit();
      return deps.platform;
    },
    own() {
      rights.commit();
      return (own ??= caller.connect(deps.platform));
    },
  });
  return {
    ...reads,
    ...writes,
    get platform() {
      rights.commit();
      return deps.platform;
    },
  };
}

export type Writes = Pick<Session, "create" | "patch" | "change" | "remove" | "share">;
export type Reads = Omit<Session, keyof Writes | "platform">;

function sessionReads({ view, now }: SessionDeps, { caller, signal, permission }: SessionRequest, rights: Rights): Reads {
  const declared = typeof permission === "string" ? [] : [permission].flat();
  const reads: Reads = {
    caller,
    view,
    signal,
    now,
    lasting: rights.lasting,
    settled: (attempt, discard) => rights.settled(attempt, discard),
    allows: (asked) => rights.allows(asked),
    require(asked) {
      if (!reads.allows(asked)) throw notAuthorized();
    },
    sees: (ref, object) => holdsName(view, ref, object) && reads.allows({ verb: "get", on: ref, ...objectKey(object) }),
    find(ref, guid) {
      const object = view.byGUID(ref, guid);
      return object && reads.sees(ref, object) ? object : undefined;
    },
    get(ref, guid) {
      const object = reads.find(ref, guid);
      if (!object) throw notFound(wordFor(ref));
      // Before anything else is looked at, so that no shortcut of a handler goes round the right.
      for (const { verb, on, subresource } of declared) {
        if (on.kind !== ref.kind || verb === "create") continue;
        reads.require({ verb, on, ...(subresource && { subresource }), ...objectKey(object) });
        if (verb !== "get") requireActive(reads, object.metadata.namespace);
      }
      return object;
    },
    list: (ref, within = {}) => listVisible(view, rights, ref, within),
  };
  return reads;
}

/** The visible objects of a kind. By RBAC only namespaces are walked where the caller has a role, unless a cluster-wide rule opens all. */
function listVisible<T extends KubeObject>(view: View, rights: Rights, ref: ResourceRef<T>, within: Within): T[] {
  const store = view.store(ref);
  const visible = rights.visible(ref, candidates(store, rights, ref, within)).filter((object) => holdsName(view, ref, object));
  return store.synced ? visible : store.list();
}

function candidates<T extends KubeObject>(store: Store<T>, rights: Rights, ref: ResourceRef<T>, within: Within): Iterable<T> {
  if (within.index) return store.byIndex(within.index[0], within.index[1]);
  const namespaces = within.namespaces ?? (ref.namespaced ? rights.namespaces(ref) : undefined);
  return namespaces ? namespaces.flatMap((namespace) => store.list({ namespace })) : store.list();
}
