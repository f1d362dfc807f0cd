// Applies and prunes the children of one owner, so that the cluster holds exactly the drafts of the last reconcile.
import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import pLimit from "p-limit";
import { needsApply } from "../api/apply-diff.ts";
import type { Draft, KubeClient } from "../client/client.ts";
import { isAlreadyExists, isForbidden, isNamespaceTerminating } from "../client/errors.ts";
import { ignoreGone } from "../client/ignore-gone.ts";
import type { ChildMarking, ChildOwner } from "./child-marking.ts";
import { collectErrors, throwErrors } from "./aggregate-errors.ts";
import { appliedFields } from "../api/managed-fields.ts";
import { keyOf, type KubeObject, type ObjectKey } from "../api/object.ts";
import { NotSynced } from "../cache/errors.ts";
import { NotReady } from "./controller.ts";
import type { Store } from "../cache/reader.ts";
import { apiVersionOf, resourceId, type ResourceRef } from "../api/resource-ref.ts";
import { hasReached } from "../api/resource-version.ts";
import { withCreationTrace } from "./creation-trace.ts";

/** A cache, or objects that were read for one call. */
export type ChildStore = Pick<Store, "ref" | "find" | "list" | "resourceVersionIn">;

export interface OwnedObjectsOptions {
  client: KubeClient;
  marking: ChildMarking;
  /** The controller's name. */
  controller: string;
  /** The owned kinds and their caches, which hold at least everything with the marks of this controller. */
  stores: readonly ChildStore[];
  /** Caches that hold every object of their kind; `createOnce` reads them first. */
  completeStores: readonly ChildStore[];
  /** Called when a child that another writer had changed is as it should be again. */
  onRepair?: (owner: ChildOwner, child: KubeObject) => void;
  /** Kinds of `ensure` that are neither watched nor read. Each object has a digest of its content in its name. */
  unwatched?: readonly ResourceRef[];
}

/** How an absent object is created. */
type CreateVerb = "apply" | "create";

export interface OwnedObjects {
  /**
   * Applies the drafts and prunes other children of the owner. `verifyReads` runs before any pruning, and before an apply over a child that
   * another writer may have changed; if it throws, that write is skipped. A failed child stops neither the others nor the pruning.
   * @throws the error, or an AggregateError of several
   */
  sync(owner: ChildOwner, drafts: readonly Draft[], verifyReads?: () => Promise<void>): Promise<void>;
  /** Creates absent objects by server-side apply without force, or by a plain create, but for those in another namespace than the owner's that is being deleted. */
  createOnce(owner: KubeObject, drafts: readonly Draft[], verb?: CreateVerb): Promise<void>;
  /**
   * Creates absent objects that carry the marks of their own owners, unless something foreign has their name. Others are left alone. Returns the
   * unwatched ones that were there: whoever removes unused ones may be about to.
   */
  ensure(drafts: readonly Draft[]): Promise<Draft[]>;
  /** Cached children of the owner, without terminating ones. @throws NotPermitted when the watch of one of them is parked: it may still exist */
  listOwnedBy(ownerId: string): OwnedChild[];
  remove(children: readonly OwnedChild[]): Promise<void>;
}

export interface OwnedChild {
  store: ChildStore;
  child: KubeObject;
}

/** The server's answer to our last apply of a child, or the version at which the child already matched. The same apply is not repeated before the cache has reached that version. */
interface LastWrite {
  resourceVersion: string;
  digest: string;
  /** The child already matched the draft; nothing was written. */
  isFoundUnchanged?: true;
}

/** As in managedFields. */
type Fields = Record<string, unknown>;

const CONCURRENCY = 8;
/** A refused creation is tried again after this time. */
const RIGHT_RECHECK_MS = 1_000;
/** Passed as `maxSize`: LRUCache allocates `max` entries at once, for every controller. */
const MAX_LAST_WRITES = 50_000;

export function createOwnedObjects(options: OwnedObjectsOptions): OwnedObjects {
  return new OwnedObjectSet(options);
}

class OwnedObjectSet implements OwnedObjects {
  readonly #options: OwnedObjectsOptions;
  readonly #lastWrites = new LRUCache<string, LastWrite>({ maxSize: MAX_LAST_WRITES, sizeCalculation: () => 1 });
  readonly #limit = pLimit(CONCURRENCY);

  constructor(options: OwnedObjectsOptions) {
    this.#options = options;
  }

  async sync(owner: ChildOwner, drafts: readonly Draft[], verifyReads?: () => Promise<void>): Promise<void> {
    const applyAll = (some: readonly Draft[]): Promise<unknown[]> =>
      collectErrors(some.map((draft) => this.#limit(() => this.#apply(owner, draft, verifyReads))));
    throwErrors([
      // Namespaces first: other children may live in them.
      ...(await applyAll(drafts.filter(({ kind }) => kind === "Namespace"))),
      ...(await applyAll(drafts.filter(({ kind }) => kind !== "Namespace"))),
      // Pruning runs even after a failure: a child that is always rejected must not keep a revoked permission or route alive.
      ...(await collectErrors([this.#prune(owner, drafts, verifyReads)])),
    ]);
  }

  createOnce(owner: KubeObject, drafts: readonly Draft[], verb: CreateVerb = "apply"): Promise<void> {
    const create = (draft: Draft): Promise<void> =>
      this.#createIfAbsent(draft, verb).catch((error: unknown) => {
        // The end of one namespace must not hold up an owner in another.
        const { namespace } = owner.metadata;
        const isElsewhere = namespace !== undefined && namespace !== draft.metadata.namespace;
        if (!isElsewhere || !isNamespaceTerminating(error)) throw error;
      });
    return awaitAll(drafts.map((draft) => this.#limit(() => create(draft))));
  }

  async ensure(drafts: readonly Draft[]): Promise<Draft[]> {
    const found: Draft[] = [];
    const ensureAll = (some: readonly Draft[]): Promise<void> =>
      awaitAll(
        some.map((draft) =>
          this.#limit(async () => {
            if ((await this.#ensure(draft)) === "found") found.push(draft);
          }),
        ),
      );
    await ensureAll(drafts.filter(({ kind }) => kind === "Namespace"));
    await ensureAll(drafts.filter(({ kind }) => kind !== "Namespace"));
    return found;
  }

  listOwnedBy(ownerId: string): OwnedChild[] {
    const { marking, stores } = this.#options;
    return stores.flatMap((store) =>
      store
        .list({ labels: { [marking.ownerLabel]: ownerId }, partial: true })
        .filter((child) => marking.isChild(child) && !child.metadata.deletionTimestamp)
        .map((child) => ({ store, child })),
    );
  }

  remove(children: readonly OwnedChild[]): Promise<void> {
    return awaitAll(
      children.map(({ store, child }) =>
        this.#limit(async () => {
          this.#lastWrites.delete(`${resourceId(store.ref)} ${keyOf(child.metadata)}`);
          await deleteExactly(this.#options.client, store.ref, child);
        }),
      ),
    );
  }

  async #apply(owner: ChildOwner, draft: Draft, verifyReads?: () => Promise<void>): Promise<void> {
    const { client, controller, stores, marking } = this.#options;
    const store = findStore(stores, draft, controller);
    const key = requireKey(draft, store.ref);
    const childKey = `${resourceId(store.ref)} ${keyOf(key)}`;
    const live = store.find(key);
    const applied = live && appliedFields(live, marking.fieldManager)?.fieldsV1;
    const marked = withFinalizers(normalize(marking.mark(draft, owner)), live, applied);
    const desired = withCreationTrace(marked, marking.traceAnnotation, { live, applied });
    if (live) marking.requireOwned(live, owner);
    // Without the trace: another reconcile is no reason to write the child again.
    const digest = hash("sha256", JSON.stringify(marked), "base64");
    const last = this.#lastWrites.get(childKey);
    if (isAlreadyApplied(last, { digest, live, store, namespace: key.namespace })) return;
    if (!needsApply(desired, live, applied))
      return void this.#lastWrites.set(childKey, {
        resourceVersion: versionOf(live),
        digest,
        isFoundUnchanged: true,
      });
    if (needsVerification(last, digest, live)) await verifyReads?.();
    const force = live !== undefined || (await marking.mayForceCreation(client, store.ref, desired));
    const answer = await client.apply(store.ref, desired, { fieldManager: marking.fieldManager, force });
    this.#lastWrites.set(childKey, { resourceVersion: versionOf(answer), digest });
    this.#noteRepair(owner, live, last?.digest === digest);
  }

  #noteRepair(owner: ChildOwner, live: KubeObject | undefined, isSameDraft: boolean): void {
    if (live && isSameDraft) this.#options.onRepair?.(owner, live);
  }

  /** "found" for one that is not watched and was there. */
  async #ensure(draft: Draft): Promise<"found" | undefined> {
    const { client, controller, stores, marking, unwatched = [] } = this.#options;
    const ref = unwatched.find((one) => one.kind === draft.kind && apiVersionOf(one) === draft.apiVersion);
    if (ref) return this.#ensureUnwatched(ref, draft);
    const store = findStore(stores, draft, controller);
    const key = requireKey(draft, store.ref);
    const childKey = `${resourceId(store.ref)} ${keyOf(key)}`;
    const digest = hash("sha256", JSON.stringify(draft), "base64");
    const live = store.find(key);
    if (live || isAlreadyApplied(this.#lastWrites.get(childKey), { digest, live, store, namespace: key.namespace }))
      return undefined;
    const force = await marking.mayForceCreation(client, store.ref, draft);
    const answer = await client.apply(store.ref, normalize(draft), { fieldManager: marking.fieldManager, force });
    this.#lastWrites.set(childKey, { resourceVersion: versionOf(answer), digest });
    return undefined;
  }

  /** Its name is a digest of its content, so one that exists is the same: it is neither read nor changed. */
  async #ensureUnwatched(ref: ResourceRef, draft: Draft): Promise<"found" | undefined> {
    const { client, marking } = this.#options;
    try {
      await client.create(ref, draft, { fieldManager: marking.fieldManager });
      return undefined;
    } catch (error) {
      if (isAlreadyExists(error)) return "found";
      if (!isForbidden(error)) throw error;
      const { message } = error;
      if (isNamespaceTerminating(error)) throw error;
      // A right may come by a binding that somebody makes in a new namespace.
      throw new NotReady("MayNotCreate", message, { requeueAfterMs: RIGHT_RECHECK_MS, cause: error });
    }
  }

  async #prune(owner: ChildOwner, drafts: readonly Draft[], verifyReads?: () => Promise<void>): Promise<void> {
    const { controller, stores } = this.#options;
    const desired = new Set(drafts.map((draft) => childId(draft, findStore(stores, draft, controller).ref)));
    const undesired = this.listOwnedBy(owner.id).filter(
      ({ store, child }) => !desired.has(`${resourceId(store.ref)} ${keyOf(child.metadata)}`),
    );
    if (undesired.length > 0) await verifyReads?.();
    await this.remove(undesired);
  }

  async #createIfAbsent(draft: Draft, verb: CreateVerb): Promise<void> {
    const { client, controller, stores, completeStores } = this.#options;
    const store = findStore([...completeStores, ...stores], draft, controller);
    const key = requireKey(draft, store.ref);
    const isComplete = completeStores.includes(store);
    if (store.find(key) ?? (isComplete ? undefined : await client.find(store.ref, key))) return;
    const { fieldManager, traceAnnotation } = this.#options.marking;
    const made = withCreationTrace(normalize(draft), traceAnnotation, {});
    if (verb === "apply") return void (await client.apply(store.ref, made, { fieldManager, force: false }));
    try {
      await client.create(store.ref, made, { fieldManager });
    } catch (error) {
      // Another reconcile was first. Its object may be of another plan, so ours is made again once the cache has it.
      throw isAlreadyExists(error) ? new NotSynced(resourceId(store.ref), key.namespace) : error;
    }
  }
}

function isAlreadyApplied(
  last: LastWrite | undefined,
  now: { digest: string; live: KubeObject | undefined; store: ChildStore; namespace: string | undefined },
): boolean {
  if (last?.digest !== now.digest) return false;
  if (last.isFoundUnchanged) return versionOf(now.live) === last.resourceVersion;
  // Not cached: the cache lags behind our write, or the child has been deleted since.
  return now.live
    ? hasReached(last.resourceVersion, now.live.metadata.resourceVersion ?? "")
    : !hasReached(now.store.resourceVersionIn(now.namespace), last.resourceVersion);
}

/** Another writer has changed the child since our last write. That writer may have read newer objects than this replica. */
function needsVerification(last: LastWrite | undefined, digest: string, live: KubeObject | undefined): boolean {
  return last?.digest === digest || (live !== undefined && versionOf(live) !== last?.resourceVersion);
}

function versionOf(object: KubeObject | undefined): string {
  return object?.metadata.resourceVersion ?? "";
}

/** A child is created with the finalizers of its draft. Later they are their holder's: those that we set stay ours, and none is added. */
function withFinalizers(desired: Draft, live: KubeObject | undefined, applied: Fields | undefined): Draft {
  if (!live) return desired;
  const { finalizers: _, ...metadata } = desired.metadata;
  const ours = (applied?.["f:metadata"] as Fields | undefined)?.["f:finalizers"] as Fields | undefined;
  const kept = (live.metadata.finalizers ?? []).filter((name) => ours?.[`v:${JSON.stringify(name)}`] !== undefined);
  return { ...desired, metadata: { ...metadata, ...(kept.length > 0 && { finalizers: kept }) } };
}

/** The server stores stringData as data. */
function normalize(draft: Draft): Draft {
  if (draft.kind !== "Secret" || !draft["stringData"]) return draft;
  const { stringData, ...rest } = draft;
  const encoded = Object.entries(stringData as Record<string, string>).map(([key, value]) => [
    key,
    Buffer.from(value, "utf8").toString("base64"),
  ]);
  return { ...rest, data: { ...(rest["data"] as Record<string, string> | undefined), ...Object.fromEntries(encoded) } };
}

function findStore(stores: readonly ChildStore[], draft: Draft, controller: string): ChildStore {
  const store = stores.find(({ ref }) => ref.kind === draft.kind && apiVersionOf(ref) === draft.apiVersion);
  if (!store)
    throw new Error(
      `controller ${controller} plans a ${draft.apiVersion ?? ""} ${draft.kind ?? "?"}, which is not in its owns (or, for createOnce, reads)`,
    );
  return store;
}

function requireKey({ kind = "object", metadata: { name, namespace } }: Draft, ref: ResourceRef): ObjectKey {
  if (!name) throw new Error(`a planned ${kind} has no name`);
  if (ref.namespaced !== Boolean(namespace))
    throw new Error(
      `the planned ${kind} ${name} ${namespace ? "has a namespace, but its kind has none" : "has no namespace"}`,
    );
  return namespace ? { namespace, name } : { name };
}

function childId(draft: Draft, ref: ResourceRef): string {
  return `${resourceId(ref)} ${keyOf(requireKey(draft, ref))}`;
}

async function deleteExactly(client: KubeClient, ref: ResourceRef, object: KubeObject): Promise<void> {
  const { uid } = object.metadata;
  await ignoreGone(client.delete(ref, object.metadata, { ...(uid && { preconditions: { uid } }) }));
}

async function awaitAll(work: readonly Promise<void>[]): Promise<void> {
  throwErrors(await collectErrors(work));
}
