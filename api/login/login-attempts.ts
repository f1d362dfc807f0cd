// Counts failed logins by address, so that nobody tries tokens without end: each try costs a TokenReview.
import { LRUCache } from "lru-cache";

/** Failures within a window, after which logins of the address are refused until it ends. */
const MAX_FAILURES = 30;
/** The same for all clients behind one proxy: who calls directly may invent the address that a proxy would have added. */
const MAX_FAILURES_OF_PROXY = 600;
const WINDOW_MS = 60_000;
const MAX_ADDRESSES = 10_000;

/** `peer`: the connection's address. `forwarded`: the address that the closest proxy added. */
export interface ClientAddress {
  peer: string;
  forwarded: string | undefined;
}

export interface LoginAttempts {
  /** Seconds until the address may try again; undefined when it may now. */
  findWait(address: ClientAddress): number | undefined;
  addFailure(address: ClientAddress): void;
}

interface Failures {
  count: number;
  endsAt: number;
}

type Counted = [known: LRUCache<string, Failures>, key: string, max: number];

/** `now` in milliseconds, from a clock that nobody sets. */
export function createLoginAttempts(now: () => number = () => performance.now()): LoginAttempts {
  const clients = new LRUCache<string, Failures>({ max: MAX_ADDRESSES });
  const proxies = new LRUCache<string, Failures>({ max: MAX_ADDRESSES });
  const find = (known: LRUCache<string, Failures>, key: string): Failures | undefined => {
    const failures = known.get(key);
    return failures && now() < failures.endsAt ? failures : undefined;
  };
  const add = (known: LRUCache<string, Failures>, key: string): void => {
    const failures = find(known, key) ?? { count: 0, endsAt: now() + WINDOW_MS };
    known.set(key, { ...failures, count: failures.count + 1 });
  };
  const counted = ({ peer, forwarded }: ClientAddress): Counted[] => {
    const client: Counted = [clients, `${peer} ${forwarded ?? ""}`, MAX_FAILURES];
    return forwarded === undefined ? [client] : [client, [proxies, peer, MAX_FAILURES_OF_PROXY]];
  };
  return {
    findWait(address) {
      const waits = counted(address).flatMap(([known, key, max]) => {
        const failures = find(known, key);
        return failures && failures.count >= max ? [failures.endsAt - now()] : [];
      });
      return waits.length === 0 ? undefined : Math.ceil(Math.max(...waits) / 1000);
    },
    addFailure(address) {
      for (const [known, key] of counted(address)) add(known, key);
    },
  };
}
