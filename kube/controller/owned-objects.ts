// Brings the children of one object to what its controller wants: applies what differs, deletes what is not named any more.
import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import pLimit from "p-limit";
import { needsApply } from "../api/apply-diff.ts";
import type { Draft, KubeClient } from "../client/client.ts";
import { isConflict, isNotFound } from "../client/errors.ts";
import { NotReady, type OwnershipMarkers } from "./controller.ts";
import { collectErrors, throwErrors } from "./aggregate-errors.ts";
import { appliedFields } from "../api/managed-fields.ts";
import { keyOf, type KubeObject, type ObjectKey } from "../api/object.ts";
import type { Store } from "../cache/reader.ts";
import { apiVersionOf, resourceId, type ResourceRef } from "../api/resource-ref.ts";
import { hasReached } from "../api/resource-version.ts";

export interface OwnedObjectsOptions {
  client: KubeClient;
  ownership: OwnershipMarkers;
  /** The controller's name. */
  controller: string;
  /** Kind of the owners. */
  ownerRef: ResourceRef;
  /** The owned kinds and their caches, which hold at least everything with the controller label. */
  stores: readonly Store[];
  /** Caches that hold all objects of their kind; looked at first by `createOnce`. */
  completeStores: readonly Store[];
}

export interface OwnedObjects {
  /**
   * Applies and prunes. `confirm` is asked before anything is pruned, and before a child is changed that somebody else may have written since it was
   * last seen here as it should be; what it throws prevents that. One bad child holds up neither the others nor the pruning: all is tried first. @throws what failed, of several an AggregateError of them
   */
  sync(owner: KubeObject, drafts: readonly Draft[], verifyReads?: () => Promise<void>): Promise<void>;
  /** Creates what is absent, without force. */
  createOnce(drafts: readonly Draft[]): Promise<void>;
  /** Cached children of that owner, not yet terminating. @throws NotPermitted when one of them is out of sight: out of sight is not gone */
  listOwnedBy(ownerUid: string): { store: Store; child: KubeObject }[];
  remove(children: readonly { store: Store; child: KubeObject }[]): Promise<void>;
}

/** What the server answered to our last apply of a child, or the version at which it was found as wanted. Until the cache has caught up with it, and as long as nothing else has changed, a repetition is pointless. */
interface LastWrite {
  resourceVersion: string;
  digest: string;
  /** Not by us: it was found as wanted. */
  isFoundUnchanged?: true;
}

const CONCURRENCY = 8;
/** Given to the cache as a size, which grows with use: a `max` of this many entries would be allocated at once, for every controller. */
const MAX_LAST_WRITES = 50_000;

export function createOwnedObjects(context: OwnedObjectsOptions): OwnedObjects {
  const { client, ownership, controller, stores, completeStores } = context;
  const fieldManager = `${ownership.fieldManagerPrefix}-${controller}`;
  const lastWrites = new LRUCache<string, LastWrite>({ maxSize: MAX_LAST_WRITES, sizeCalculation: () => 1 });
  const limit = pLimit(CONCURRENCY);

  const applyChild = async (owner: KubeObject, draft: Draft, confirm?: () => Promise<void>): Promise<void> => {
    const store = findStore(stores, draft, controller);
    const wanted = normalize(withOwnerMetadata(draft, owner, context));
    const key = requireKey(wanted, store.ref);
    const childKey = `${resourceId(store.ref)} ${keyOf(key)}`;
    const live = store.find(key);
    requireNoOtherOwner(live, owner, context);
    const digest = createHash("sha256").update(JSON.stringify(wanted)).digest("base64");
    const last = lastWrites.get(childKey);
    if (isAlreadyApplied(last, { digest, live, store, namespace: key.namespace })) return;
    if (!needsApply(wanted, live, live && appliedFields(live, fieldManager)?.fieldsV1))
      return void lastWrites.set(childKey, { resourceVersion: versionOf(live), digest, isFoundUnchanged: true });
    if (needsVerification(last, digest, live)) await confirm?.();
    const answer = await client.apply(store.ref, wanted, { fieldManager, force: true });
    lastWrites.set(childKey, { resourceVersion: answer.metadata.resourceVersion ?? "", digest });
  };
  const listOwnedBy: OwnedObjects["listOwnedBy"] = (ownerUid) =>
    stores.flatMap((store) =>
      store
        .list({ labels: { [ownership.ownerLabel]: ownerUid }, partial: true })
        .filter(
          (child) =>
            child.metadata.labels?.[ownership.controllerLabel] === controller && !child.metadata.deletionTimestamp,
        )
        .map((child) => ({ store, child })),
    );
  const remove: OwnedObjects["remove"] = (children) =>
    awaitAll(
      children.map(({ store, child }) =>
        limit(async () => {
          lastWrites.delete(`${resourceId(store.ref)} ${keyOf(child.metadata)}`);
          await deleteExactly(client, store.ref, child);
        }),
      ),
    );

  return {
    listOwnedBy,
    remove,
    async sync(owner, drafts, confirm) {
      const named = new Set(drafts.map((draft) => childId(draft, findStore(stores, draft, controller).ref)));
      const apply = (those: readonly Draft[]): Promise<unknown[]> =>
        collectErrors(those.map((draft) => limit(() => applyChild(owner, draft, confirm))));
      const prune = async (): Promise<void> => {
        const unwanted = listOwnedBy(owner.metadata.uid ?? "").filter(
          ({ store, child }) => !named.has(`${resourceId(store.ref)} ${keyOf(child.metadata)}`),
        );
        if (unwanted.length > 0) await confirm?.();
        await remove(unwanted);
      };
      throwErrors([
        // Namespaces first: others may live in them.
        ...(await apply(drafts.filter(({ kind }) => kind === "Namespace"))),
        ...(await apply(drafts.filter(({ kind }) => kind !== "Namespace"))),
        // Whatever failed: what is refused for ever must not keep a right or a route that was taken away.
        ...(await collectErrors([prune()])),
      ]);
    },
    async createOnce(drafts) {
      await awaitAll(
        drafts.map((draft) =>
          limit(async () => {
            const store = findStore([...completeStores, ...stores], draft, controller);
            const whole = completeStores.includes(store);
            const key = requireKey(draft, store.ref);
            if (store.find(key) ?? (whole ? undefined : await client.find(store.ref, key))) return;
            await client.apply(store.ref, normalize(draft), { fieldManager, force: false });
          }),
        ),
      );
    },
  };
}

function isAlreadyApplied(
  last: LastWrite | undefined,
  now: { digest: string; live: KubeObject | undefined; store: Store; namespace: string | undefined },
): boolean {
  if (last?.digest !== now.digest || last.isFoundUnchanged) return false;
  // Not cached: either the cache is still behind our write, or somebody has deleted the child since.
  return now.live
    ? hasReached(last.resourceVersion, now.live.metadata.resourceVersion ?? "")
    : !hasReached(now.store.resourceVersionIn(now.namespace), last.resourceVersion);
}

/** The very same was there before and is not so any more, or what is there is not what we last saw: somebody else has written, who perhaps sees more than we do. */
function needsVerification(last: LastWrite | undefined, digest: string, live: KubeObject | undefined): boolean {
  return last?.digest === digest || (live !== undefined && versionOf(live) !== last?.resourceVersion);
}

function versionOf(object: KubeObject | undefined): string {
  return object?.metadata.resourceVersion ?? "";
}

/** Labels, annotation and, where Kubernetes allows one, the owner reference. */
function withOwnerMetadata(
  draft: Draft,
  owner: KubeObject,
  { ownership, controller, ownerRef }: OwnedObjectsOptions,
): Draft {
  const { metadata } = draft;
  const reachable = !ownerRef.namespaced || metadata.namespace === owner.metadata.namespace;
  const reference = {
    apiVersion: apiVersionOf(ownerRef),
    kind: ownerRef.kind,
    name: owner.metadata.name,
    uid: owner.metadata.uid ?? "",
    controller: true,
  };
  return {
    ...draft,
    metadata: {
      ...metadata,
      labels: {
        ...metadata.labels,
        [ownership.ownerLabel]: owner.metadata.uid ?? "",
        [ownership.controllerLabel]: controller,
      },
      annotations: { ...metadata.annotations, [ownership.ownerAnnotation]: keyOf(owner.metadata) },
      ...(reachable && { ownerReferences: [...(metadata.ownerReferences ?? []), reference] }),
    },
  };
}

/** stringData is a form of writing only: the server keeps data. */
function normalize(draft: Draft): Draft {
  if (draft.kind !== "Secret" || !draft["stringData"]) return draft;
  const { stringData, ...rest } = draft;
  const encoded = Object.entries(stringData as Record<string, string>).map(([key, value]) => [
    key,
    Buffer.from(value, "utf8").toString("base64"),
  ]);
  return { ...rest, data: { ...(rest["data"] as Record<string, string> | undefined), ...Object.fromEntries(encoded) } };
}

// Two owners that want one name would overwrite each other for ever.
function requireNoOtherOwner(
  live: KubeObject | undefined,
  owner: KubeObject,
  { ownership }: OwnedObjectsOptions,
): void {
  const holder = live?.metadata.labels?.[ownership.ownerLabel];
  if (!live || holder === undefined || holder === owner.metadata.uid) return;
  const held = live.metadata.annotations?.[ownership.ownerAnnotation] ?? holder;
  throw new NotReady("ChildTaken", `${live.kind} ${keyOf(live.metadata)} belongs to ${held}`, {
    requeueAfterMs: 2_000,
  });
}

function findStore(stores: readonly Store[], draft: Draft, controller: string): Store {
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
  try {
    await client.delete(ref, object.metadata, { ...(uid && { preconditions: { uid } }) });
  } catch (error) {
    // Gone already, or another object has the name by now: either way ours is no more.
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}

async function awaitAll(work: readonly Promise<void>[]): Promise<void> {
  throwErrors(await collectErrors(work));
}
