// Follows the logs of apps that run in pods: every container of the sources that this replica owns, into the ring.
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import { Pod } from "../../kube/api/builtin.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Store } from "../../kube/cache/reader.ts";
import { isUnreadable } from "../../kube/cache/errors.ts";
import { LIST_WATCH_VERBS } from "../../kube/controller/permissions.ts";
import type { Permission } from "../../kube/rbac/resource-rules.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import { LABELS } from "../../crds/labels.ts";
import type { LogRing } from "../log-ring.ts";
import { ContainerLog, type ContainerLine } from "./container-log.ts";
import { createLineFilter, type LineFilter } from "./line-filter.ts";
import type { LogStream } from "./stream-log.ts";
import { type LoggingContainer, loggingContainers, slimPod } from "./pod-containers.ts";
import type { PodObject } from "./container-events.ts";

/** Permissions to follow logs of pods. */
export const POD_LOG_PERMISSIONS: readonly Permission[] = [
  { resource: Pod, verbs: LIST_WATCH_VERBS },
  { resource: Pod, subresource: "log", verbs: ["get"] },
];

export interface PodLogsOptions {
  client: KubeClient;
  informers: Pick<Informers, "ensure">;
  ring: LogRing;
  /** Whether this replica currently owns a source. */
  owns: (source: string) => boolean;
  log: Logger;
  /** The streams that the API server gives apart; default both in one. */
  streams?: readonly LogStream[];
  /** Bytes per second that a container may log; -1, the default, means no limit. */
  limitOf?: (container: LoggingContainer) => number;
  /** Containers followed at the same time, each with a connection. Containers beyond it are not read; this is logged once. */
  maxContainers?: number;
}

export interface PodLogs {
  /** Call it when `owns` may have changed: it drops sources of other replicas, and reads newly owned ones from the nodes. */
  reassign(): void;
  /** True once the existing logs of all owned and visible pods have been read. */
  isReady(): boolean;
  /** Whether the platform may not watch pods. */
  isParked(): boolean;
  stop(): void;
}

const MAX_CONTAINERS = 4000;
/** Number of containers whose existing logs are read at the same time. */
const MAX_CONCURRENT_READS = 16;
/** Milliseconds for which the old owner still answers: the new one reads the existing logs first. */
const HANDOVER_MS = 10_000;
const DRAIN_MS = 2_000;
/** Longest wait for the last lines of an earlier container. */
const TURN_MS = 2_000;

interface FollowedContainer {
  container: LoggingContainer;
  log: ContainerLog;
  isAllowed: LineFilter;
}

/** An app. */
interface Source {
  followed: Map<string, FollowedContainer>;
  /** Resolves when the existing logs have been read. */
  backfilled: Promise<void>;
}

/** Watches pods with an app's label in all namespaces. */
export function startPodLogs(options: PodLogsOptions): PodLogs {
  return new PodLogFollower(options);
}

class PodLogFollower implements PodLogs {
  readonly #options: PodLogsOptions;
  readonly #store: Store<PodObject>;
  readonly #disposers: (() => void)[] = [];
  readonly #sources = new Map<string, Source>();
  readonly #evictionTimers = new Map<string, NodeJS.Timeout>();
  readonly #readLimit = limiter(MAX_CONCURRENT_READS);
  #backfilling = 0;
  #full = false;

  constructor(options: PodLogsOptions) {
    this.#options = options;
    const handle = options.informers.ensure(Pod, {
      labelSelector: LABELS.app,
      transform: slimPod,
      indexes: { source: (pod) => [pod.metadata.labels?.[LABELS.app] ?? ""] },
    });
    this.#store = handle.store;
    this.#disposers.push(
      () => handle.release(),
      this.#store.onChange((change) => {
        if (!this.#store.synced) return;
        if (change.type === "deleted") this.#onPodDeleted(change.object);
        else this.#onPodSeen(change.object);
      }),
      this.#store.onStateChange(() => this.reassign()),
    );
    this.reassign();
  }

  isReady(): boolean {
    return this.#store.synced && this.#backfilling === 0;
  }

  isParked(): boolean {
    return this.#store.state === "parked";
  }

  reassign(): void {
    if (!this.#store.synced) return;
    for (const source of this.#sources.keys()) if (!this.#options.owns(source)) this.#release(source);
    const present = new Set<string>();
    for (const pod of this.#store.list({ partial: true })) {
      present.add(pod.metadata.uid ?? "");
      this.#onPodSeen(pod);
    }
    for (const [name, { followed }] of [...this.#sources])
      if (followed.size > 0) this.#removeMissing(name, followed, present);
  }

  stop(): void {
    for (const end of this.#disposers) end();
    for (const timer of this.#evictionTimers.values()) clearTimeout(timer);
    for (const { followed } of this.#sources.values()) for (const { log } of followed.values()) log.stop();
    this.#sources.clear();
  }

  #onPodSeen(pod: PodObject): void {
    const source = pod.metadata.labels?.[LABELS.app] ?? "";
    if (!this.#options.owns(source)) return;
    const known = this.#sources.get(source);
    if (!known) return this.#acquire(source);
    this.#updateContainers(known, loggingContainers(pod));
  }

  #updateContainers(source: Source, containers: readonly LoggingContainer[]): void {
    const ended: ContainerLog[] = [];
    for (const container of containers) {
      const known = source.followed.get(container.key)?.log;
      known?.update(container);
      // A container that starts now has only lines later than all existing ones.
      if (!known && this.#add(source, container)) void this.#followInTurn(source, container.key, [...ended]);
      const log = source.followed.get(container.key)?.log;
      if (log && !container.running) ended.push(log);
    }
  }

  /** Follows a container after the last lines of those that ended before it started. */
  async #followInTurn(source: Source, key: string, before: readonly ContainerLog[]): Promise<void> {
    await source.backfilled;
    await Promise.race([Promise.all(before.map(({ ended }) => ended)), delay(TURN_MS, undefined, { ref: false })]);
    source.followed.get(key)?.log.follow();
  }

  #onPodDeleted({ metadata: { labels, uid } }: PodObject): void {
    const source = labels?.[LABELS.app];
    // For a pod that was deleted while its namespace was not watched, only the uid is known.
    for (const name of source === undefined ? [...this.#sources.keys()] : [source])
      this.#finishContainers(name, ({ key }) => toPodUid(key) === uid);
  }

  /** Ends containers whose pods were deleted without an event. `present`: uids of the cached pods; a pod in an unsynced namespace may exist. */
  #removeMissing(name: string, followed: ReadonlyMap<string, FollowedContainer>, present: ReadonlySet<string>): void {
    // The namespace may come back with the same pods; their whole logs are read again then.
    if ([...followed.values()].every(({ container }) => this.#isForeign(container))) return this.#release(name);
    this.#finishContainers(
      name,
      (container) =>
        this.#isForeign(container) ||
        (!present.has(toPodUid(container.key)) && this.#store.syncStatusOf(container.namespace).synced),
    );
  }

  /** Whether the platform no longer watches the namespace. Its sync status is that of an unlisted namespace, but the store has no pods of it. */
  #isForeign({ key, namespace }: LoggingContainer): boolean {
    const { state, synced } = this.#store.syncStatusOf(namespace);
    if (synced || state === "parked") return false;
    try {
      return this.#store.byUid(toPodUid(key)) === undefined;
    } catch (error) {
      // The pod cannot be read, or a list is under way; a change of the sync status follows.
      if (isUnreadable(error)) return false;
      throw error;
    }
  }

  #finishContainers(name: string, isGone: (container: LoggingContainer) => boolean): void {
    const known = this.#sources.get(name);
    if (!known) return;
    for (const [key, { container, log }] of known.followed) {
      if (!isGone(container)) continue;
      // Its last lines may still be in flight.
      log.finish(DRAIN_MS);
      known.followed.delete(key);
    }
    // Lines in the ring stay; the ring has its own bounds.
    if (known.followed.size === 0) this.#sources.delete(name);
  }

  /** Starts to own a source: logs its existing lines by time, then every new line. */
  #acquire(name: string): void {
    const leftOver = this.#evictionTimers.get(name);
    clearTimeout(leftOver);
    this.#evictionTimers.delete(name);
    // Otherwise the ring would hold lines of an earlier ownership twice.
    if (leftOver) this.#options.ring.drop(name);
    const source: Source = { followed: new Map(), backfilled: Promise.resolve() };
    this.#sources.set(name, source);
    for (const pod of this.#store.byIndex("source", name))
      for (const container of loggingContainers(pod)) this.#add(source, container);
    if (source.followed.size > 0) source.backfilled = this.#backfill(source);
  }

  async #backfill(source: Source): Promise<void> {
    this.#backfilling++;
    const past = await Promise.all(
      [...source.followed.values()].map(async ({ container, log, isAllowed }) =>
        (await this.#readLimit(() => log.readBack())).map((line) => ({ line, container, isAllowed })),
      ),
    );
    const sorted = past.flat().sort((one, other) => (one.line.time < other.line.time ? -1 : 1));
    for (const { line, container, isAllowed } of sorted) if (isAllowed(line)) this.#append(container, line);
    for (const { log } of source.followed.values()) log.follow();
    this.#backfilling--;
  }

  #add(source: Source, container: LoggingContainer): boolean {
    if (this.#count() >= (this.#options.maxContainers ?? MAX_CONTAINERS)) {
      if (!this.#full)
        this.#options.log.warn(
          { containers: this.#count() },
          "no more logs can be followed by this replica; run more replicas of the operation logs",
        );
      this.#full = true;
      return false;
    }
    const onFault = (err: unknown): void =>
      this.#options.log.debug(
        { err, pod: `${container.namespace}/${container.pod}`, container: container.container },
        "cannot read a log; it is tried again",
      );
    const isAllowed = createLineFilter(
      () => this.#options.limitOf?.(container) ?? -1,
      (line) => this.#append(container, line),
    );
    const log = new ContainerLog({
      client: this.#options.client,
      container,
      streams: this.#options.streams ?? [undefined],
      onLine: (line) => {
        if (isAllowed(line)) this.#append(container, line);
      },
      onFault,
    });
    source.followed.set(container.key, { container, log, isAllowed });
    return true;
  }

  #count(): number {
    let count = 0;
    for (const { followed } of this.#sources.values()) count += followed.size;
    return count;
  }

  #append(
    { source, sourceType, instance, tags }: LoggingContainer,
    { isOutput: _isOutput, ...line }: ContainerLine,
  ): void {
    this.#options.ring.log({ source, sourceType, instance, tags, ...line });
  }

  #release(name: string): void {
    for (const { log } of this.#sources.get(name)?.followed.values() ?? []) log.stop();
    this.#sources.delete(name);
    const forget = (): void => {
      this.#evictionTimers.delete(name);
      this.#options.ring.drop(name);
    };
    this.#evictionTimers.set(name, setTimeout(forget, HANDOVER_MS).unref());
  }
}

/** The uid of the pod of that container. */
function toPodUid(key: string): string {
  return key.slice(0, key.indexOf("/"));
}

/** Runs at most `most` tasks at a time, in order. */
function limiter(most: number): <T>(task: () => Promise<T>) => Promise<T> {
  const queue: (() => void)[] = [];
  let running = 0;
  return async (task) => {
    if (running >= most) await new Promise<void>((resolve) => queue.push(resolve));
    running++;
    try {
      return await task();
    } finally {
      running--;
      queue.shift()?.();
    }
  };
}
