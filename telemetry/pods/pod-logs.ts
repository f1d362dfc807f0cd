// Keeps the logs of apps that run in pods: of those sources that this replica owns, every container is followed into the ring.
import type { Logger } from "pino";
import { Pod } from "../../kube/api/builtin.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { NotPermitted, NotSynced, type Store } from "../../kube/cache/reader.ts";
import { FOLLOW, type Right } from "../../kube/controller/permissions.ts";
import type { Watches } from "../../kube/cache/informers.ts";
import { LABELS } from "../../crds/labels.ts";
import type { LogRing } from "../log-ring.ts";
import { ContainerLog, type ContainerLine } from "./container-log.ts";
import { type LoggingContainer, loggingContainers, slimPod, type PodObject } from "./pod-containers.ts";

/** What this needs of the cluster. */
export const POD_LOG_RIGHTS: readonly Right[] = [
  { on: Pod, verbs: FOLLOW },
  { on: Pod, subresource: "log", verbs: ["get"] },
];

export interface PodLogsOptions {
  client: KubeClient;
  watches: Pick<Watches, "ensure">;
  ring: LogRing;
  /** Whether this replica keeps the logs of a source now. */
  owns: (source: string) => boolean;
  log: Logger;
  /** Containers followed at the same time, each with a connection; what is beyond is not read, and said once. */
  maxContainers?: number;
}

export interface PodLogs {
  /** `owns` may answer differently now: what is owned no more is forgotten, what is owned anew is read from the nodes. */
  reassign(): void;
  /** True once all that is owned has been read, as far as pods can be seen. */
  ready(): boolean;
  /** Whether pods may not be seen. */
  parked(): boolean;
  stop(): void;
}

const MAX_CONTAINERS = 4000;
/** Containers whose past is read at the same time. */
const READERS = 16;
/** The old owner answers for so long after another has taken over, since that one reads first. Milliseconds. */
const HANDOVER_MS = 10_000;
const LAST_LINES_MS = 2_000;

interface Followed {
  container: LoggingContainer;
  log: ContainerLog;
}

/** One app. */
interface Source {
  followed: Map<string, Followed>;
  /** Its past has been read. */
  filled: Promise<void>;
}

/** Watches pods that bear an app's label, in all namespaces. */
export function startPodLogs(options: PodLogsOptions): PodLogs {
  return new Keeper(options);
}

class Keeper implements PodLogs {
  readonly #o: PodLogsOptions;
  readonly #store: Store<PodObject>;
  readonly #ends: (() => void)[] = [];
  readonly #sources = new Map<string, Source>();
  readonly #forgetting = new Map<string, NodeJS.Timeout>();
  readonly #readers = limiter(READERS);
  #filling = 0;
  #full = false;

  constructor(options: PodLogsOptions) {
    this.#o = options;
    const handle = options.watches.ensure(Pod, { labelSelector: LABELS.app, transform: slimPod, indexes: { source: (pod) => [pod.metadata.labels?.[LABELS.app] ?? ""] } });
    this.#store = handle.store;
    this.#ends.push(
      () => handle.release(),
      this.#store.onChange((change) => {
        if (!this.#store.synced) return;
        if (change.type === "deleted") this.#lost(change.object);
        else this.#saw(change.object);
      }),
      this.#store.onState(() => this.reassign()),
    );
    this.reassign();
  }

  ready(): boolean {
    return this.#store.synced && this.#filling === 0;
  }

  parked(): boolean {
    return this.#store.state === "parked";
  }

  reassign(): void {
    if (!this.#store.synced) return;
    for (const source of this.#sources.keys()) if (!this.#o.owns(source)) this.#release(source);
    const present = new Set<string>();
    for (const pod of this.#store.list({ partial: true })) {
      present.add(pod.metadata.uid ?? "");
      this.#saw(pod);
    }
    for (const [name, { followed }] of [...this.#sources]) if (followed.size > 0) this.#endUntold(name, followed, present);
  }

  stop(): void {
    for (const end of this.#ends) end();
    for (const timer of this.#forgetting.values()) clearTimeout(timer);
    for (const { followed } of this.#sources.values()) for (const { log } of followed.values()) log.stop();
    this.#sources.clear();
  }

  #saw(pod: PodObject): void {
    const source = pod.metadata.labels?.[LABELS.app] ?? "";
    if (!this.#o.owns(source)) return;
    const known = this.#sources.get(source);
    if (!known) return this.#take(source);
    for (const container of loggingContainers(pod)) {
      const followed = known.followed.get(container.key);
      if (followed) followed.log.update(container);
      // What starts from now on says its first line later than all that was there.
      else if (this.#add(known, container)) void known.filled.then(() => known.followed.get(container.key)?.log.follow());
    }
  }

  #lost({ metadata: { labels, uid } }: PodObject): void {
    const source = labels?.[LABELS.app];
    // Of a pod that went while it was out of sight only the uid is known.
    for (const name of source === undefined ? [...this.#sources.keys()] : [source]) this.#end(name, ({ key }) => podOf(key) === uid);
  }

  /** Whose end nobody told, since it could not be seen. `present` has the uids of the pods in sight; what is out of sight now is not gone. */
  #endUntold(name: string, followed: ReadonlyMap<string, Followed>, present: ReadonlySet<string>): void {
    // It may come back with the same pods, and then all that they said is read again.
    if ([...followed.values()].every(({ container }) => this.#isForeign(container))) return this.#release(name);
    this.#end(name, (container) => this.#isForeign(container) || (!present.has(podOf(container.key)) && this.#store.sightOf(container.namespace).synced));
  }

  /** Is its namespace not ours any more? It looks as one that is yet to be listed, but the store remembers nobody there. */
  #isForeign({ key, namespace }: LoggingContainer): boolean {
    const { state, synced } = this.#store.sightOf(namespace);
    if (synced || state === "parked") return false;
    try {
      return this.#store.byUid(podOf(key)) === undefined;
    } catch (error) {
      // The pod is out of sight, or something is being listed; in the end a change of state is told.
      if (error instanceof NotPermitted || error instanceof NotSynced) return false;
      throw error;
    }
  }

  #end(name: string, isGone: (container: LoggingContainer) => boolean): void {
    const known = this.#sources.get(name);
    if (!known) return;
    for (const [key, { container, log }] of known.followed) {
      if (!isGone(container)) continue;
      // Its last lines may still be on their way.
      log.finish(LAST_LINES_MS);
      known.followed.delete(key);
    }
    // What was kept stays: the ring has bounds of its own.
    if (known.followed.size === 0) this.#sources.delete(name);
  }

  /** A source that is owned from now on: its past in the order of its times, then every new line. */
  #take(name: string): void {
    const leftOver = this.#forgetting.get(name);
    clearTimeout(leftOver);
    this.#forgetting.delete(name);
    // Lines of an earlier ownership would be there twice.
    if (leftOver) this.#o.ring.drop(name);
    const source: Source = { followed: new Map(), filled: Promise.resolve() };
    this.#sources.set(name, source);
    for (const pod of this.#store.byIndex("source", name)) for (const container of loggingContainers(pod)) this.#add(source, container);
    if (source.followed.size > 0) source.filled = this.#fill(source);
  }

  async #fill(source: Source): Promise<void> {
    this.#filling++;
    const past = await Promise.all([...source.followed.values()].map(async ({ container, log }) => (await this.#readers(() => log.readBack())).map((line) => ({ line, container }))));
    for (const { line, container } of past.flat().sort((one, other) => (one.line.time < other.line.time ? -1 : 1))) this.#keep(container, line);
    for (const { log } of source.followed.values()) log.follow();
    this.#filling--;
  }

  #add(source: Source, container: LoggingContainer): boolean {
    if (this.#count() >= (this.#o.maxContainers ?? MAX_CONTAINERS)) {
      if (!this.#full) this.#o.log.warn({ containers: this.#count() }, "no more logs can be followed by this replica; run more replicas of the operation logs");
      this.#full = true;
      return false;
    }
    const onFault = (err: unknown): void => this.#o.log.debug({ err, pod: `${container.namespace}/${container.pod}`, container: container.container }, "cannot read a log; it is tried again");
    const log = new ContainerLog({ client: this.#o.client, container, onLine: (line) => this.#keep(container, line), onFault });
    source.followed.set(container.key, { container, log });
    return true;
  }

  #count(): number {
    let count = 0;
    for (const { followed } of this.#sources.values()) count += followed.size;
    return count;
  }

  #keep({ source, sourceType, instance, tags }: LoggingContainer, { time, message }: ContainerLine): void {
    this.#o.ring.log({ source, sourceType, instance, tags, time, message });
  }

  #release(name: string): void {
    for (const { log } of this.#sources.get(name)?.followed.values() ?? []) log.stop();
    this.#sources.delete(name);
    const forget = (): void => {
      this.#forgetting.delete(name);
      this.#o.ring.drop(name);
    };
    this.#forgetting.set(name, setTimeout(forget, HANDOVER_MS).unref());
  }
}

/** The uid of the pod of that container. */
function podOf(key: string): string {
  return key.slice(0, key.indexOf("/"));
}

/** Runs so many at a time, in order. */
function limiter(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running >= most) await new Promise<void>((resolve) => waiting.push(resolve));
    running++;
    try {
      return await work();
    } finally {
      running--;
      waiting.shift()?.();
    }
  };
}
