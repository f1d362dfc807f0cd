// Bounded rings of log lines, one per source. Bounds in bytes and count for each source, and in bytes and sources for all together.
import { firstFailing } from "../kube/api/binary-search.ts";
import { type Envelope, type LogEntry, type LogQuery, maxReadLimit, type SourceMeta } from "./envelope.ts";

/** Bounds of the rings. A line costs its characters and `lineOverhead` bytes. */
export interface RingLimits {
  linesPerSource: number;
  bytesPerSource: number;
  bytes: number;
  sources: number;
}

/** Bounds for a laptop: 128 MiB in total for any number of apps. */
export const defaultRingLimits: RingLimits = {
  linesPerSource: 10_000,
  bytesPerSource: 4 << 20,
  bytes: 128 << 20,
  sources: 20_000,
};

/** Bytes that each line costs besides its text. */
export const lineOverhead = 160;

/** Longer lines are cut to this many characters, like Diego's 60 KiB. */
export const maxLineLength = 61_440;

interface Line {
  time: bigint;
  entry: LogEntry;
  cost: number;
}

interface Ring {
  lines: Line[];
  /** Index of the oldest line. Dropping a line is O(1); the array is cut when half of it has been dropped. */
  head: number;
  bytes: number;
  expired: number;
  listeners: Set<(envelope: Envelope) => void>;
}

/** Rings of all sources. Not shared between processes: a cache, lost with the process. */
export interface LogRing {
  /** Stores the line and notifies the followers. Times within one source strictly increase, so that a reader can continue after the last one it saw. */
  log(entry: LogEntry): void;
  read(source: string, query: LogQuery): Envelope[];
  /** Calls `listener` for each new line until the returned function is called. */
  follow(source: string, listener: (envelope: Envelope) => void): () => void;
  meta(): Record<string, SourceMeta>;
  /** Forgets a source. */
  drop(source: string): void;
  /** Bytes kept for all sources. */
  size(): number;
}

/** Makes empty rings. `nowNs` gives nanoseconds since the epoch. */
export function createLogRing(limits: RingLimits = defaultRingLimits, nowNs: () => bigint = wallClockNs): LogRing {
  const store: Store = { rings: new Map(), total: 0 };
  return {
    log: (entry) => append(store, limits, entry, nowNs),
    read: (source, query) => {
      const ring = store.rings.get(source);
      return ring ? readRing(ring, query) : [];
    },
    follow(source, listener) {
      touch(store, source).listeners.add(listener);
      return () => {
        const ring = store.rings.get(source);
        ring?.listeners.delete(listener);
        if (ring?.lines.length === 0 && ring.listeners.size === 0) store.rings.delete(source);
      };
    },
    meta: () =>
      Object.fromEntries(
        [...store.rings]
          .filter(([, ring]) => ring.lines.length > ring.head)
          .map(([source, ring]) => [source, metaOf(ring)]),
      ),
    drop: (source) => drop(store, source),
    size: () => store.total,
  };
}

interface Store {
  /** In order of last use; the first source has been silent for longest. */
  rings: Map<string, Ring>;
  total: number;
}

function append(store: Store, limits: RingLimits, entry: LogEntry, nowNs: () => bigint): void {
  const ring = touch(store, entry.source);
  const kept =
    entry.message.length > maxLineLength ? { ...entry, message: entry.message.slice(0, maxLineLength) } : entry;
  const last = ring.lines.at(-1)?.time ?? 0n;
  const wanted = entry.time ?? nowNs();
  const line: Line = {
    time: wanted > last ? wanted : last + 1n,
    entry: kept,
    cost: kept.message.length + lineOverhead,
  };
  ring.lines.push(line);
  ring.bytes += line.cost;
  store.total += line.cost;
  while (ring.lines.length - ring.head > limits.linesPerSource || ring.bytes > limits.bytesPerSource)
    shift(store, ring);
  makeRoom(store, limits);
  if (ring.listeners.size > 0) notify(ring, toEnvelope(line));
}

function touch(store: Store, source: string): Ring {
  const ring = store.rings.get(source) ?? emptyRing(new Set());
  store.rings.delete(source);
  store.rings.set(source, ring);
  return ring;
}

function shift(store: Store, ring: Ring): void {
  const line = ring.lines[ring.head];
  if (!line) return;
  ring.lines[ring.head] = undefined as unknown as Line;
  ring.head += 1;
  ring.bytes -= line.cost;
  ring.expired += 1;
  store.total -= line.cost;
  if (ring.head > 64 && ring.head * 2 > ring.lines.length) {
    ring.lines = ring.lines.slice(ring.head);
    ring.head = 0;
  }
}

function drop(store: Store, source: string): void {
  const ring = store.rings.get(source);
  if (!ring) return;
  store.total -= ring.bytes;
  if (ring.listeners.size === 0) store.rings.delete(source);
  else Object.assign(ring, emptyRing(ring.listeners));
}

function makeRoom(store: Store, limits: RingLimits): void {
  for (const source of store.rings.keys()) {
    if (store.rings.size <= limits.sources) break;
    drop(store, source);
  }
  // The largest ring is halved, so that one verbose app cannot evict the lines of others.
  while (store.total > limits.bytes) {
    const longest = [...store.rings.values()].reduce((a, b) => (b.bytes > a.bytes ? b : a));
    const target = longest.bytes / 2;
    while (longest.bytes > target) shift(store, longest);
  }
}

function emptyRing(listeners: Ring["listeners"]): Ring {
  return { lines: [], head: 0, bytes: 0, expired: 0, listeners };
}

function notify(ring: Ring, envelope: Envelope): void {
  for (const listener of ring.listeners) listener(envelope);
}

function readRing(ring: Ring, query: LogQuery): Envelope[] {
  if (query.types && query.types.length > 0 && !query.types.includes("LOG")) return [];
  const limit = Math.min(Math.max(query.limit ?? 100, 0), maxReadLimit);
  const from = query.start === undefined ? ring.head : firstAtOrAfter(ring, query.start);
  const to = query.end === undefined ? ring.lines.length : firstAtOrAfter(ring, query.end);
  if (!query.descending) return ring.lines.slice(from, Math.min(to, from + limit)).map(toEnvelope);
  return ring.lines
    .slice(Math.max(from, to - limit), Math.max(from, to))
    .reverse()
    .map(toEnvelope);
}

/** Index of the first kept line whose time is not before `time`. */
function firstAtOrAfter(ring: Ring, time: bigint): number {
  return firstFailing(ring.head, ring.lines.length, (at) => (ring.lines[at]?.time ?? 0n) < time);
}

function metaOf(ring: Ring): SourceMeta {
  return {
    count: String(ring.lines.length - ring.head),
    expired: String(ring.expired),
    oldestTimestamp: String(ring.lines[ring.head]?.time ?? 0n),
    newestTimestamp: String(ring.lines.at(-1)?.time ?? 0n),
  };
}

function toEnvelope({ time, entry }: Line): Envelope {
  return {
    timestamp: String(time),
    source_id: entry.source,
    instance_id: entry.instance ?? "0",
    tags: { ...entry.tags, source_type: entry.sourceType, instance_id: entry.instance ?? "0" },
    log: { payload: Buffer.from(entry.message).toString("base64"), type: entry.stream ?? "OUT" },
  };
}

function wallClockNs(): bigint {
  return BigInt(Date.now()) * 1_000_000n;
}
