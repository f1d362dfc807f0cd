// Read your writes at any replica: a write's marks reach every replica before it is answered, and no replica answers before it has observed its marks.
import type { RequestListener } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import { createWaiters } from "../../kube/cache/waiters.ts";
import { resourceId, type ResourceRef } from "../../kube/api/resource-ref.ts";
import { unavailable } from "../http/errors.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import { createReadBarrier, type WriteMark } from "./read-barrier.ts";
import { createWriteHistory } from "./write-history.ts";
import { createPeerHandler } from "./peer-server.ts";
import { createPeerClient, peerTimeoutMs, type PeerClient } from "./peer-client.ts";
import { createStallDetector } from "./stall-detector.ts";
import { openPeerConnection, type Peer } from "./peer-protocol.ts";

/** The live replicas, from the membership. */
export interface PeerDirectory {
  readonly self: Peer;
  /** The other live replicas, from the cache; undefined while the membership cannot be read, which is not "none". */
  findPeers(): readonly Peer[] | undefined;
  /** As `findPeers`, by a live read: has every replica that joined before this call. @throws Error when the membership cannot be read */
  fetchPeers(): Promise<readonly Peer[]>;
  /** Calls `listener` when `findPeers` or `isMember` may have changed. Returns the unsubscribe function. */
  onChange(listener: () => void): () => void;
  /** Whether this replica holds its membership, so that the others send it their writes. */
  isMember(): boolean;
  /** Removes the membership of a peer. @throws Error when that fails */
  removePeer(peer: Peer): Promise<void>;
}

export interface PeerGroupOptions {
  cache: ClusterCache;
  log: Logger;
  /** Without it this replica is the only one. */
  directory?: PeerDirectory;
  /** The token for a peer's URL; required with a directory. */
  tokenFor?: (url: string) => string;
}

export interface PeerGroup {
  /** Resolves once this replica and all live others have observed the writes or, after half a second, hold their replies until they have. */
  publishWrites(marks: readonly WriteMark[]): Promise<void>;
  /** As `publishWrites`, for all changes of these kinds that this replica has observed so far. */
  publishObserved(refs: readonly ResourceRef[]): Promise<void>;
  /** Undefined when this replica may answer now; else resolves when it may. Rejects with CFError 503 after `requestTimeoutMs`. */
  waitUntilCurrent(): Promise<void> | undefined;
  /** Whether this replica answers, or will within `maxLagMs`, and lags by less than that. */
  isReady(): boolean;
  /** Connects to all live replicas and fetches their marks; retries until done. Call it after joining and listing, also after joining again. */
  syncWithPeers(): Promise<void>;
  /** Serves the other replicas. The caller must check their token first. */
  handler: RequestListener;
  close(): Promise<void>;
}

/** Longest wait of a write for this replica's own cache, milliseconds. */
const observeTimeoutMs = 500;
/** Longest wait of a request at a replica that is behind, milliseconds: two thirds of what a request may take, for machines that are overloaded. */
const requestTimeoutMs = 20_000;
/** A replica that lags for this long is not ready. Milliseconds. */
const maxLagMs = 2000;
const resyncDelayMs = 200;
/** A peer that said hello and is not in the membership after this long is gone. Milliseconds. */
const announcedTtlMs = 30_000;

/** Contacts no peer before `syncWithPeers`. */
export function createPeerGroup(options: PeerGroupOptions): PeerGroup {
  return new HttpPeerGroup(options);
}

class HttpPeerGroup implements PeerGroup {
  readonly handler: RequestListener;
  readonly #options: PeerGroupOptions;
  readonly #barrier;
  readonly #history = createWriteHistory();
  readonly #waiters = createWaiters();
  readonly #stallDetector = createStallDetector(peerTimeoutMs - 100, () => void this.#resync());
  readonly #stopListening: (() => void) | undefined;
  /** By identity. */
  readonly #clients = new Map<string, PeerClient>();
  /** Peers that said hello; their membership may not be in the cache yet. */
  readonly #announced = new Map<string, { peer: Peer; at: number }>();
  #synced = false;
  #everSynced = false;
  /** Whether the membership was read since the last `syncWithPeers`. */
  #peersFetched = true;
  /** When `isReady` first found this replica not serving; undefined while it serves. */
  #notServingSince: number | undefined;
  /** Counts resync requests: a hello that was sent before the last request does not satisfy it. */
  #syncGeneration = 0;
  #syncing: Promise<void> | undefined;
  #closed = false;

  constructor(options: PeerGroupOptions) {
    this.#options = options;
    this.#barrier = createReadBarrier(options.cache);
    this.#synced = this.#everSynced = options.directory === undefined;
    this.#stopListening = options.directory?.onChange(() => this.#refreshPeers());
    this.handler = createPeerHandler({
      identity: options.directory?.self.identity ?? "",
      barrier: this.#barrier,
      onHello: (peer) => this.#handleHello(peer),
      log: options.log,
    });
  }

  async publishWrites(marks: readonly WriteMark[]): Promise<void> {
    if (marks.length === 0) return;
    this.#history.add(marks);
    const own = this.#barrier.addAndWait(marks, observeTimeoutMs);
    await (this.#clients.size === 0
      ? own
      : Promise.all([own, ...[...this.#clients.values()].map((line) => line.sendMarks(marks))]));
  }

  async publishObserved(refs: readonly ResourceRef[]): Promise<void> {
    if (this.#clients.size === 0) return;
    const { cache } = this.#options;
    await this.publishWrites(
      refs
        .map((ref) => ({ resource: resourceId(ref), version: cache.latestVersion(ref) }))
        .filter(({ version }) => version !== ""),
    );
  }

  waitUntilCurrent(): Promise<void> | undefined {
    if (this.#clients.size > 0) this.#stallDetector.check();
    if (!this.#isServing()) return this.#waitUntilServing();
    const behind = this.#barrier.wait(requestTimeoutMs);
    return behind?.then(requireCurrent);
  }

  isReady(): boolean {
    const now = performance.now();
    if (this.#isServing()) this.#notServingSince = undefined;
    else this.#notServingSince ??= now;
    // Requests wait out a short gap, so it need not take this replica out of the load balancer.
    const silentMs = this.#notServingSince === undefined ? 0 : now - this.#notServingSince;
    return this.#everSynced && silentMs < maxLagMs && this.#barrier.lagMs() < maxLagMs;
  }

  syncWithPeers(): Promise<void> {
    this.#peersFetched = false;
    return this.#resync();
  }

  /** Syncs with the known peers, which is enough after a short stall. */
  #resync(): Promise<void> {
    this.#synced = false;
    this.#syncGeneration++;
    if (this.#options.directory === undefined) return Promise.resolve();
    return (this.#syncing ??= this.#syncUntilDone(this.#options.directory));
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#stopListening?.();
    this.#stallDetector.close();
    this.#waiters.close();
    await Promise.all([...this.#clients.values()].map((line) => line.close()));
    this.#clients.clear();
  }

  /** A replica without peers keeps serving without its membership: no other replica writes. */
  #isServing(): boolean {
    const { directory } = this.#options;
    return this.#synced && (directory === undefined || this.#clients.size === 0 || directory.isMember());
  }

  async #waitUntilServing(): Promise<void> {
    const started = performance.now();
    const serves = await this.#waiters.wait(() => this.#isServing(), requestTimeoutMs);
    requireCurrent(serves);
    requireCurrent((await this.#barrier.wait(Math.max(requestTimeoutMs - (performance.now() - started), 0))) ?? true);
  }

  async #syncUntilDone(directory: PeerDirectory): Promise<void> {
    const { log } = this.#options;
    for (let told = false; !this.#synced && !this.#closed;) {
      try {
        const asked = await this.#syncOnce(directory);
        this.#synced = asked === this.#syncGeneration && this.#peersFetched;
        this.#everSynced ||= this.#synced;
        continue;
      } catch (err) {
        if (!told)
          log.warn(
            { err },
            "could not ask all replicas what they have written; nothing is answered until that has been done",
          );
        told = true;
      }
      await delay(resyncDelayMs);
    }
    // Before anything else runs: a resync that comes now begins anew.
    this.#syncing = undefined;
    this.#waiters.checkAll();
  }

  /** @returns the resync request that was the last one when the first of the answered hellos was sent */
  async #syncOnce(directory: PeerDirectory): Promise<number> {
    if (!this.#peersFetched) {
      this.#peersFetched = true;
      try {
        this.#reconcileClients(await directory.fetchPeers());
      } catch (error) {
        this.#peersFetched = false;
        throw error;
      }
    }
    const asked = this.#syncGeneration;
    const hellos = [...this.#clients.values()].map(async (line) => {
      let sentAt = asked;
      const marks = await line.hello(() => (sentAt = this.#syncGeneration));
      return { marks, sentAt };
    });
    const answers = await Promise.all(hellos);
    void this.#barrier.addAndWait(
      answers.flatMap(({ marks }) => marks),
      observeTimeoutMs,
    );
    return answers.length === 0 ? asked : Math.min(...answers.map(({ sentAt }) => sentAt));
  }

  /** Runs on every membership change, this replica's own included. */
  #refreshPeers(): void {
    const { directory } = this.#options;
    if (!directory || this.#closed) return;
    const peers = directory.findPeers();
    // While the membership cannot be read, all known peers may be alive and keep receiving marks.
    if (peers) this.#reconcileClients(peers);
    this.#waiters.checkAll();
  }

  #reconcileClients(peers: readonly Peer[]): void {
    const wanted = new Map(peers.map((peer) => [peer.identity, peer]));
    for (const [identity, { peer, at }] of this.#announced) {
      if (wanted.has(identity) || performance.now() - at > announcedTtlMs) this.#announced.delete(identity);
      else wanted.set(identity, peer);
    }
    for (const [identity, line] of this.#clients) {
      if (wanted.has(identity)) continue;
      this.#clients.delete(identity);
      void line.close();
    }
    for (const peer of wanted.values()) this.#ensureClient(peer);
    this.#stallDetector.setEnabled(this.#clients.size > 0);
  }

  #ensureClient(peer: Peer): PeerClient {
    const known = this.#clients.get(peer.identity);
    if (known) return known;
    const { directory, tokenFor, log } = this.#options;
    if (!directory || !tokenFor) throw new Error("a replica without a directory has no peers");
    const line = createPeerClient({
      peer,
      self: directory.self,
      connection: openPeerConnection(peer, () => tokenFor(peer.url)),
      history: this.#history,
      removePeer: () => this.#removePeer(peer),
      log,
    });
    this.#clients.set(peer.identity, line);
    return line;
  }

  async #removePeer(peer: Peer): Promise<void> {
    await this.#options.directory?.removePeer(peer);
    this.#announced.delete(peer.identity);
    this.#refreshPeers();
  }

  /** A peer joined or came back: from now on it receives every write. Returns the earlier marks. */
  #handleHello(peer: Peer): WriteMark[] {
    if (this.#closed || !this.#options.directory) return [];
    if (!this.#clients.has(peer.identity)) this.#announced.set(peer.identity, { peer, at: performance.now() });
    this.#ensureClient(peer).markCaughtUp();
    this.#stallDetector.setEnabled(true);
    return this.#history.listMarks();
  }
}

function requireCurrent(good: boolean): void {
  if (!good) throw unavailable("This replica of the API has not seen all changes yet. Try again.");
}
