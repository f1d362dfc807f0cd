// Bounds logins that cost a TokenReview, by address, so that nobody tries tokens without end.
import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";

/** Failures within a window, after which logins of the address are refused until it ends. */
const MAX_FAILURES = 30;
/** The same for all clients behind one proxy: who calls directly may invent the address that a proxy would have added. */
const MAX_FAILURES_OF_PROXY = 600;
const WINDOW_MS = 60_000;
/** Reviews under way of one address, and of all clients behind one proxy: failures count only once they are known. */
const MAX_PENDING = 100;
const MAX_PENDING_OF_PROXY = 600;
const MAX_ADDRESSES = 10_000;
/** How long a login makes its credential and its address known. */
const KNOWN_MS = 24 * 60 * 60_000;
const MAX_KNOWN = 20_000;
/** Addresses that one credential makes known: whoever calls directly may invent them. */
const MAX_ADDRESSES_OF_CREDENTIAL = 8;

/** `peer`: the connection's address. `forwarded`: the address that the closest proxy added. */
export interface ClientAddress {
  peer: string;
  forwarded: string | undefined;
}

export interface LoginAttempt {
  address: ClientAddress;
  credential: string;
}

/** The attempt was refused, unreviewed. */
export interface LoginRefusal {
  waitSeconds: number;
}

export interface LoginAttempts {
  /**
   * Reviews, unless the address used up its tries. `review` resolves to undefined for a credential that is refused.
   * A credential that logged in within a day is always reviewed. An address from which somebody did has its own bound, but not its proxy's: others cannot use that up.
   */
  review<T>(attempt: LoginAttempt, review: () => Promise<T | undefined>): Promise<T | LoginRefusal | undefined>;
}

interface Failures {
  count: number;
  endsAt: number;
}

/** The bound of one address. */
interface Bound {
  findWait(): number;
  addFailure(): void;
  addPending(change: 1 | -1): void;
}

interface Limits {
  maxFailures: number;
  maxPending: number;
}

/** `now` in milliseconds, from a clock that nobody sets. */
export function createLoginAttempts(now: () => number = () => performance.now()): LoginAttempts {
  const clientBound = createBounds(now, { maxFailures: MAX_FAILURES, maxPending: MAX_PENDING });
  const proxyBound = createBounds(now, { maxFailures: MAX_FAILURES_OF_PROXY, maxPending: MAX_PENDING_OF_PROXY });
  /** Credentials with the addresses that they made known, and those addresses. */
  const known = new LRUCache<string, Set<string>>({ max: MAX_KNOWN, ttl: KNOWN_MS, ttlResolution: 0, perf: { now } });
  return {
    async review({ address: { peer, forwarded }, credential }, review) {
      const addressKey = [peer, forwarded].join(" ");
      const credentialKey = hash("sha256", credential);
      const own = clientBound(addressKey);
      const bounds = forwarded === undefined ? [own] : [own, proxyBound(peer)];
      const inForce = known.has(addressKey) ? [own] : bounds;
      const waitSeconds = known.has(credentialKey) ? 0 : Math.max(...inForce.map((bound) => bound.findWait()));
      if (waitSeconds > 0) return { waitSeconds };
      for (const bound of bounds) bound.addPending(1);
      try {
        const reviewed = await review();
        if (reviewed === undefined) {
          known.delete(credentialKey);
          for (const bound of bounds) bound.addFailure();
        } else rememberLogin(known, credentialKey, addressKey);
        return reviewed;
      } finally {
        for (const bound of bounds) bound.addPending(-1);
      }
    },
  };
}

function rememberLogin(known: LRUCache<string, Set<string>>, credentialKey: string, addressKey: string): void {
  const addresses = known.get(credentialKey) ?? new Set();
  if (addresses.size < MAX_ADDRESSES_OF_CREDENTIAL) addresses.add(addressKey);
  known.set(credentialKey, addresses);
  if (addresses.has(addressKey)) known.set(addressKey, new Set());
}

function createBounds(now: () => number, { maxFailures, maxPending }: Limits): (key: string) => Bound {
  const failures = new LRUCache<string, Failures>({ max: MAX_ADDRESSES });
  const pending = new Map<string, number>();
  const find = (key: string): Failures | undefined => {
    const found = failures.get(key);
    return found && now() < found.endsAt ? found : undefined;
  };
  return (key) => ({
    findWait() {
      const found = find(key);
      if (found && found.count >= maxFailures) return Math.ceil((found.endsAt - now()) / 1000);
      return (pending.get(key) ?? 0) >= maxPending ? 1 : 0;
    },
    addFailure() {
      const { count, endsAt } = find(key) ?? { count: 0, endsAt: now() + WINDOW_MS };
      failures.set(key, { count: count + 1, endsAt });
    },
    addPending(change) {
      const count = (pending.get(key) ?? 0) + change;
      if (count > 0) pending.set(key, count);
      else pending.delete(key);
    },
  });
}
