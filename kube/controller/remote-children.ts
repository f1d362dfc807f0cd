// The children that one controller has on other clusters: caches and writes per cluster, and the owners that their changes enqueue.
import type { ClusterProvider, Engagement } from "../cache/cluster-provider.ts";
import { isUnreadable, NotSynced } from "../cache/errors.ts";
import { onReadabilityChange } from "../cache/readability-changes.ts";
import type { Change, Reader, Store } from "../cache/reader.ts";
import { keyOf, type KubeObject } from "../api/object.ts";
import { resourceId, type ResourceRef } from "../api/resource-ref.ts";
import type { Draft, KubeClient } from "../client/client.ts";
import { isUnreachable, KubeError } from "../client/errors.ts";
import { flattenErrors } from "./aggregate-errors.ts";
import { type ChildOwner, parseRemoteOwner, remoteMarking } from "./child-marking.ts";
import {
  NotReady,
  type Controller,
  type MapResult,
  type RemoteCluster,
  type RemoteClusters,
  type RemoteMarkers,
  type RemoteResult,
} from "./controller.ts";
import type { EventDraft } from "./event-recorder.ts";
import { createOwnedObjects, type OwnedObjects } from "./owned-objects.ts";
import { createRepairLog, type RepairLog } from "./repair-log.ts";
import { LOW_PRIORITY } from "./workqueue.ts";

export interface RemoteChildrenOptions {
  controller: Controller;
  provider: ClusterProvider;
  /** Known once a cluster is engaged. */
  markers: () => RemoteMarkers | undefined;
  /** Enqueues the key of an owner. */
  enqueueKey: (key: string, priority: number) => void;
  /** Enqueues what a map function returns. */
  enqueue: (mapped: (read: Reader) => MapResult) => void;
  recordEvent: (object: KubeObject, event: EventDraft) => void;
  now: () => Date;
  /** Aborting it ends all watches. */
  signal: AbortSignal;
}

export interface RemoteChildren {
  clusters: RemoteClusters;
  /**
   * As OwnedObjects.sync on each cluster that the result names. A cluster that is not readable now is left alone. Resolves to false when a cluster did
   * not answer, so that the key must be tried again.
   * @throws the error of a cluster, or an AggregateError of several
   */
  sync(object: KubeObject, result: RemoteResult, verifyReads: () => Promise<void>): Promise<boolean>;
}

/** A write takes milliseconds. Nobody waits longer for a cluster that does not answer. */
const WRITE_DEADLINE_MS = 5_000;

export const NO_CLUSTERS: RemoteClusters = { markers: undefined, find: () => undefined, names: () => [] };

export function startRemoteChildren(options: RemoteChildrenOptions): RemoteChildren {
  return new RemoteChildSet(options);
}

interface Attached {
  engagement: Engagement;
  owned: readonly Store[];
  stores: readonly Store[];
  children: OwnedObjects;
  cluster: RemoteCluster;
  detach: () => void;
}

class RemoteChildSet implements RemoteChildren {
  readonly clusters: RemoteClusters;
  readonly #options: RemoteChildrenOptions;
  readonly #attached = new Map<string, Attached>();

  constructor(options: RemoteChildrenOptions) {
    this.#options = options;
    this.clusters = {
      get markers() {
        return options.markers();
      },
      find: (name) => this.#findReadable(name)?.cluster,
      names: () => [...this.#attached.keys()],
    };
    const { provider, signal } = options;
    for (const engagement of provider.list()) this.#attach(engagement);
    const stop = provider.onChange((name) => this.#follow(name));
    signal.addEventListener(
      "abort",
      () => {
        stop();
        for (const { detach } of this.#attached.values()) detach();
      },
      { once: true },
    );
  }

  async sync(object: KubeObject, result: RemoteResult, verifyReads: () => Promise<void>): Promise<boolean> {
    const owner = { id: result.owner, object };
    const names = new Set([...Object.keys(result.children), ...Object.keys(result.ensured ?? {})]);
    const outcomes = await Promise.allSettled(
      [...names].map((name) => this.#syncCluster(name, owner, { result, verifyReads })),
    );
    const errors = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? flattenErrors(outcome.reason) : []));
    const reported = errors.filter((error) => !isUnreachable(error));
    if (reported.length > 0) throw reported.length === 1 ? reported[0] : new AggregateError(reported);
    return errors.length === 0;
  }

  async #syncCluster(
    name: string,
    owner: ChildOwner,
    { result, verifyReads }: { result: RemoteResult; verifyReads: () => Promise<void> },
  ): Promise<void> {
    const attached = this.#findReadable(name);
    if (!attached) return;
    try {
      const found = await attached.children.ensure(result.ensured?.[name] ?? []);
      const drafts = result.children[name];
      if (drafts) await attached.children.sync(owner, drafts, verifyReads);
      // They may have gone before their user came; from now on they are used.
      await attached.children.ensure(found);
    } catch (error) {
      throw new AggregateError(flattenErrors(error).map((one) => nameCluster(name, one)));
    }
  }

  /** Undefined while a cache of the cluster is incomplete, or the cluster is silent: nothing may be inferred or written then. */
  #findReadable(name: string): Attached | undefined {
    const attached = this.#attached.get(name);
    const isUsed = attached !== undefined && this.#options.provider.find(name) === attached.engagement;
    return isUsed && attached.stores.every(({ synced }) => synced) ? attached : undefined;
  }

  #follow(name: string): void {
    const engagement = this.#options.provider.list().find((one) => one.name === name);
    const known = this.#attached.get(name);
    if (known && known.engagement !== engagement) {
      known.detach();
      this.#attached.delete(name);
    }
    if (engagement && known?.engagement !== engagement) this.#attach(engagement);
    this.#enqueueCluster(name);
  }

  #enqueueCluster(name: string): void {
    const { controller, enqueue } = this.#options;
    enqueue((read) => controller.remote?.mapCluster(name, read) ?? []);
  }

  #attach(engagement: Engagement): void {
    const { controller } = this.#options;
    const markers = this.#options.markers();
    if (!markers) throw new Error(`cluster ${engagement.name} is engaged before the id of the platform is known`);
    const { owns = [], reads = [], ownerKind = controller.for } = controller.remote ?? {};
    const labelSelector = `${markers.hubLabel}=${markers.hub}`;
    const ofOwned = owns.map((ref) =>
      engagement.informers.ensure(ref, { labelSelector, keepFieldsOf: [markers.fieldManager] }),
    );
    const ofRead = reads.map((ref) => engagement.informers.ensure(ref));
    const owned = ofOwned.map(({ store }) => store as Store);
    const stores = [...owned, ...ofRead.map(({ store }) => store as Store)];
    const client = withDeadline(engagement.client);
    const repairs = createRepairLog(() => this.#options.now().getTime());
    const children = this.#createChildren(engagement.name, { client, owned, markers, repairs });
    const stops = [
      ...owned.map((store) =>
        store.onChange((change) => this.#enqueueOwners(change, (text) => parseRemoteOwner(ownerKind, text), markers)),
      ),
      onReadabilityChange(stores, () => this.#enqueueCluster(engagement.name)),
    ];
    this.#attached.set(engagement.name, {
      engagement,
      owned,
      stores,
      children,
      cluster: {
        client,
        read: engagement.informers.readPreferring(stores),
        listOwned: listOwned(owned, markers),
        countRepairs: (ownerId) => ({ count: repairs.count(ownerId), since: repairs.since }),
      },
      detach() {
        for (const stop of stops) stop();
        for (const handle of [...ofOwned, ...ofRead]) handle.release();
      },
    });
  }

  #createChildren(
    cluster: string,
    given: { client: KubeClient; owned: readonly Store[]; markers: RemoteMarkers; repairs: RepairLog },
  ): OwnedObjects {
    const { controller, recordEvent } = this.#options;
    return createOwnedObjects({
      client: given.client,
      marking: remoteMarking(given.markers, controller.remote?.ownerKind ?? controller.for),
      controller: controller.name,
      stores: given.owned,
      completeStores: [],
      unwatched: controller.remote?.creates ?? [],
      onRepair(owner, child) {
        given.repairs.add(owner.id);
        recordEvent(owner.object, restored(cluster, child));
      },
    });
  }

  #enqueueOwners(
    change: Change<KubeObject>,
    parse: (text: string | undefined) => string | undefined,
    { ownerAnnotation }: RemoteMarkers,
  ): void {
    const objects = change.type === "modified" ? [change.object, change.old] : [change.object];
    for (const { metadata } of objects) {
      const key = parse(metadata.annotations?.[ownerAnnotation]);
      if (key !== undefined) this.#options.enqueueKey(key, change.initial ? LOW_PRIORITY : 0);
    }
  }
}

function restored(cluster: string, { kind, metadata }: KubeObject): EventDraft {
  return {
    type: "Warning",
    reason: "Restored",
    message: `another writer changed ${kind} ${keyOf(metadata)} on cluster ${cluster}, and it is as before again: change this object instead`,
  };
}

function listOwned(owned: readonly Store[], { ownerLabel }: RemoteMarkers): RemoteCluster["listOwned"] {
  return <T extends KubeObject>(ref: ResourceRef<T>, ownerId: string): T[] => {
    const store = owned.find((one) => resourceId(one.ref) === resourceId(ref));
    if (!store?.synced) throw new NotSynced(resourceId(ref));
    return store.list({ labels: { [ownerLabel]: ownerId } }) as T[];
  };
}

function withDeadline(client: KubeClient): KubeClient {
  const deadlineMs = WRITE_DEADLINE_MS;
  return {
    ...client,
    find: (ref, key, options) => client.find(ref, key, { deadlineMs, ...options }),
    create: (ref, object: Draft, options) => client.create(ref, object, { deadlineMs, ...options }),
    patch: (ref, key, patch, options) => client.patch(ref, key, patch, { deadlineMs, ...options }),
    apply: (ref, object: Draft, options) => client.apply(ref, object, { deadlineMs, ...options }),
    delete: (ref, key, options) => client.delete(ref, key, { deadlineMs, ...options }),
  };
}

/** Names the cluster in errors for people. Those that the runtime handles itself stay as they are. */
function nameCluster(name: string, error: unknown): unknown {
  if (isUnreachable(error) || isUnreadable(error)) return error;
  if (error instanceof NotReady)
    return new NotReady(error.reason, `cluster ${name}: ${error.message}`, {
      ...(error.requeueAfterMs !== undefined && { requeueAfterMs: error.requeueAfterMs }),
      isFailure: error.isFailure,
      cause: error,
    });
  if (error instanceof KubeError)
    return new NotReady(error.reason || "Refused", `cluster ${name}: ${error.message}`, {
      requeueAfterMs: 10_000,
      isFailure: true,
      cause: error,
    });
  return error;
}
