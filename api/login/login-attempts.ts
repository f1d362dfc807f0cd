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

interface Bound {
  failures: LRUCache<string, Failures>;
  key: string;
  max: number;
  maxPending: number;
}

/** `now` in milliseconds, from a clock that nobody sets. */
export function createLoginAttempts(now: () => number = () => performance.now()): LoginAttempts {
  const clients = new LRUCache<string, Failures>({ max: MAX_ADDRESSES });
  const proxies = new LRUCache<string, Failures>({ max: MAX_ADDRESSES });
  const known = new LRUCache<string, true>({ max: MAX_KNOWN, ttl: KNOWN_MS, ttlResolution: 0, perf: { now } });
  const pending = new Map<string, number>();

  const boundsOf = ({ peer, forwarded }: ClientAddress): [Bound, ...Bound[]] => {
    const key = clientKey({ peer, forwarded });
    const client: Bound = { failures: clients, key, max: MAX_FAILURES, maxPending: MAX_PENDING };
    if (forwarded === undefined) return [client];
    const proxy = { key: peer, max: MAX_FAILURES_OF_PROXY, maxPending: MAX_PENDING_OF_PROXY };
    return [client, { failures: proxies, ...proxy }];
  };
  const findFailures = ({ failures, key }: Bound): Failures | undefined => {
    const found = failures.get(key);
    return found && now() < found.endsAt ? found : undefined;
  };
  const findWait = (bound: Bound): number => {
    const found = findFailures(bound);
    if (found && found.count >= bound.max) return Math.ceil((found.endsAt - now()) / 1000);
    return (pending.get(bound.key) ?? 0) >= bound.maxPending ? 1 : 0;
  };
  const addFailure = (bound: Bound): void => {
    const { count, endsAt } = findFailures(bound) ?? { count: 0, endsAt: now() + WINDOW_MS };
    bound.failures.set(bound.key, { count: count + 1, endsAt });
  };
  const addPending = ({ key }: Bound, change: 1 | -1): void => {
    const count = (pending.get(key) ?? 0) + change;
    if (count > 0) pending.set(key, count);
    else pending.delete(key);
  };

  return {
    async review({ address, credential }, review) {
      const bounds = boundsOf(address);
      const [ownBound] = bounds;
      const credentialKey = hash("sha256", credential);
      const inForce = known.has(credentialKey) ? [] : known.has(ownBound.key) ? [ownBound] : bounds;
      const waitSeconds = Math.max(0, ...inForce.map(findWait));
      if (waitSeconds > 0) return { waitSeconds };
      for (const bound of bounds) addPending(bound, 1);
      try {
        const reviewed = await review();
        if (reviewed === undefined) {
          known.delete(credentialKey);
          bounds.forEach(addFailure);
        } else for (const key of [credentialKey, ownBound.key]) known.set(key, true);
        return reviewed;
      } finally {
        for (const bound of bounds) addPending(bound, -1);
      }
    },
  };
}

/** Never the key of a proxy, which has no blank. */
function clientKey({ peer, forwarded }: ClientAddress): string {
  return `${peer} ${forwarded ?? ""}`;
}
