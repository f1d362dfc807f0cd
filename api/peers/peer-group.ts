// Read your writes, at any replica: a write is told to every replica before it is answered, and no replica answers before it has seen what it was told.
import type { RequestListener } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import { createWaiters } from "../../kube/cache/waiters.ts";
import { resourceId, type ResourceRef } from "../../kube/api/resource-ref.ts";
import { unavailable } from "../http/errors.ts";
import type { View } from "../cache/cluster-cache.ts";
import { createFloors, type Mark } from "./read-barrier.ts";
import { createHistory } from "./write-history.ts";
import { peerHandler } from "./peer-server.ts";
import { createPeerLine, peerDeadlineMs, type PeerLine } from "./peer-client.ts";
import { createStallWatch } from "./stall-detector.ts";
import { openWire, type Peer } from "./peer-protocol.ts";

/** The live replicas, as somebody who keeps a membership knows them. */
export interface PeerDirectory {
  readonly self: Peer;
  /** All others that count as alive, as far as it is known here; undefined while nobody can be seen, which is not "none". */
  peers(): readonly Peer[] | undefined;
  /** As `peers`, asked now: whoever joined before this call is in it. @throws Error when nobody can be asked */
  ask(): Promise<readonly Peer[]>;
  /** Called when `peers` or `holds` may have changed. */
  onChange(listener: () => void): () => void;
  /** This replica may count on being told by the others. */
  holds(): boolean;
  /** Takes the membership of a peer away. @throws Error when that could not be done */
  drop(peer: Peer): Promise<void>;
}

export interface ReplicasOptions {
  view: View;
  log: Logger;
  /** Without it this replica is the only one. */
  directory?: PeerDirectory;
  /** The token that opens a peer's URL; needed with a directory. */
  tokenFor?: (url: string) => string;
}

export interface Replicas {
  /** Resolves once this replica and all live others have seen the writes or, after half a second, at least answer nothing before they have. */
  written(marks: readonly Mark[]): Promise<void>;
  /** As `written`, for all that this replica has seen of these kinds so far. */
  share(refs: readonly ResourceRef[]): Promise<void>;
  /** Undefined when this replica may answer now; else resolves when it may. Rejects with 503 after a while. */
  current(): Promise<void> | undefined;
  /** Whether it answers, or will in a moment, and is not far behind. */
  ready(): boolean;
  /** Gets to know all live replicas and what they have written. To be called after joining and listing, also after joining again. Tries until it has. */
  meet(): Promise<void>;
  /** Serves the other replicas. The caller has checked their token. */
  handler: RequestListener;
  close(): Promise<void>;
}

/** Longest wait of a write for the replicas, milliseconds. */
const seenWithinMs = 500;
/** Longest wait of a request at a replica that is behind, milliseconds. */
const holdMs = 10_000;
/** A replica that is behind for so long is not ready. Milliseconds. */
const unreadyAfterMs = 2000;
const meetAgainMs = 200;
/** After so long the membership of whoever said hello has come here, or it is gone. Milliseconds. */
const introducedMs = 30_000;

/** Makes it. Nothing is sent before `meet`. */
export function createReplicas(options: ReplicasOptions): Replicas {
  return new Circle(options);
}

class Circle implements Replicas {
  readonly handler: RequestListener;
  readonly #o: ReplicasOptions;
  readonly #floors;
  readonly #history = createHistory();
  readonly #waiters = createWaiters();
  readonly #stalls = createStallWatch(peerDeadlineMs - 100, () => void this.#meetAgain());
  readonly #stopListening: (() => void) | undefined;
  /** By identity. */
  readonly #lines = new Map<string, PeerLine>();
  /** Said hello; their membership may not have come here yet. */
  readonly #introduced = new Map<string, { peer: Peer; at: number }>();
  #met = false;
  #everMet = false;
  /** The cluster was asked who is there, since that was last wanted. */
  #asked = true;
  /** Since when it does not answer, as far as anybody looked. */
  #silentSince: number | undefined;
  /** Counts the calls of `meet`: a round that began before the last one does not do. */
  #wanted = 0;
  #meeting: Promise<void> | undefined;
  #closed = false;

  constructor(options: ReplicasOptions) {
    this.#o = options;
    this.#floors = createFloors(options.view);
    this.#met = this.#everMet = options.directory === undefined;
    this.#stopListening = options.directory?.onChange(() => this.#look());
    this.handler = peerHandler({ identity: options.directory?.self.identity ?? "", floors: this.#floors, greet: (peer) => this.#greet(peer), log: options.log });
  }

  async written(marks: readonly Mark[]): Promise<void> {
    if (marks.length === 0) return;
    this.#history.add(marks);
    const own = this.#floors.take(marks, seenWithinMs);
    await (this.#lines.size === 0 ? own : Promise.all([own, ...[...this.#lines.values()].map((line) => line.tell(marks))]));
  }

  async share(refs: readonly ResourceRef[]): Promise<void> {
    if (this.#lines.size === 0) return;
    const { view } = this.#o;
    await this.written(refs.map((ref) => ({ resource: resourceId(ref), version: view.position(ref) })).filter(({ version }) => version !== ""));
  }

  current(): Promise<void> | undefined {
    if (this.#lines.size > 0) this.#stalls.check();
    if (!this.#serves()) return this.#whenServing();
    const behind = this.#floors.settled(holdMs);
    return behind?.then(refuseUnless);
  }

  ready(): boolean {
    const now = performance.now();
    if (this.#serves()) this.#silentSince = undefined;
    else this.#silentSince ??= now;
    // A moment's absence is waited out by those who ask; nobody need be sent elsewhere.
    const silentMs = this.#silentSince === undefined ? 0 : now - this.#silentSince;
    return this.#everMet && silentMs < unreadyAfterMs && this.#floors.behindMs() < unreadyAfterMs;
  }

  meet(): Promise<void> {
    this.#asked = false;
    return this.#meetAgain();
  }

  /** Those who are known; that is enough after a moment's absence. */
  #meetAgain(): Promise<void> {
    this.#met = false;
    this.#wanted++;
    return (this.#meeting ??= this.#meetAll().finally(() => (this.#meeting = undefined)));
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#stopListening?.();
    this.#stalls.close();
    this.#waiters.close();
    await Promise.all([...this.#lines.values()].map((line) => line.close()));
    this.#lines.clear();
  }

  /** A replica that is alone goes on without its membership: nobody else writes. */
  #serves(): boolean {
    const { directory } = this.#o;
    return this.#met && (directory === undefined || this.#lines.size === 0 || directory.holds());
  }

  async #whenServing(): Promise<void> {
    const started = performance.now();
    const serves = await this.#waiters.wait(() => this.#serves(), holdMs);
    refuseUnless(serves);
    refuseUnless((await this.#floors.settled(Math.max(holdMs - (performance.now() - started), 0))) ?? true);
  }

  async #meetAll(): Promise<void> {
    const { directory, log } = this.#o;
    for (let told = false; directory && !this.#met && !this.#closed; ) {
      const round = this.#wanted;
      try {
        await this.#meetOnce(directory);
        this.#met = round === this.#wanted;
        this.#everMet ||= this.#met;
        continue;
      } catch (err) {
        if (!told) log.warn({ err }, "could not ask all replicas what they have written; nothing is answered until that has been done");
        told = true;
      }
      await delay(meetAgainMs);
    }
    this.#waiters.check();
  }

  async #meetOnce(directory: PeerDirectory): Promise<void> {
    if (!this.#asked) {
      this.#asked = true;
      try {
        this.#keepLines(await directory.ask());
      } catch (error) {
        this.#asked = false;
        throw error;
      }
    }
    const missed = await Promise.all([...this.#lines.values()].map((line) => line.hello()));
    void this.#floors.take(missed.flat(), seenWithinMs);
  }

  /** Who is there has changed, or whether this replica counts itself. */
  #look(): void {
    const { directory } = this.#o;
    if (!directory || this.#closed) return;
    const peers = directory.peers();
    // Who cannot be seen may be there: it is told as before.
    if (peers) this.#keepLines(peers);
    this.#waiters.check();
  }

  #keepLines(peers: readonly Peer[]): void {
    const wanted = new Map(peers.map((peer) => [peer.identity, peer]));
    for (const [identity, { peer, at }] of this.#introduced) {
      if (wanted.has(identity) || performance.now() - at > introducedMs) this.#introduced.delete(identity);
      else wanted.set(identity, peer);
    }
    for (const [identity, line] of this.#lines) {
      if (wanted.has(identity)) continue;
      this.#lines.delete(identity);
      void line.close();
    }
    for (const peer of wanted.values()) this.#lineTo(peer);
    this.#stalls.run(this.#lines.size > 0);
  }

  #lineTo(peer: Peer): PeerLine {
    const known = this.#lines.get(peer.identity);
    if (known) return known;
    const { directory, tokenFor, log } = this.#o;
    if (!directory || !tokenFor) throw new Error("a replica without a directory has no peers");
    const line = createPeerLine({ peer, self: directory.self, wire: openWire(peer, tokenFor(peer.url)), history: this.#history, drop: () => this.#drop(peer), log });
    this.#lines.set(peer.identity, line);
    return line;
  }

  async #drop(peer: Peer): Promise<void> {
    await this.#o.directory?.drop(peer);
    this.#introduced.delete(peer.identity);
    this.#look();
  }

  /** A peer has come, or come back: from now on it is told of every write, and here is what was before. */
  #greet(peer: Peer): Mark[] {
    if (this.#closed || !this.#o.directory) return [];
    if (!this.#lines.has(peer.identity)) this.#introduced.set(peer.identity, { peer, at: performance.now() });
    this.#lineTo(peer).caughtUp();
    this.#stalls.run(true);
    return this.#history.marks();
  }
}

function refuseUnless(good: boolean): void {
  if (!good) throw unavailable("This replica of the API has not seen all changes yet. Try again.");
}
