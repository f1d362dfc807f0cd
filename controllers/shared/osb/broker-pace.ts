// How many requests brokers get at once, of all controllers together: silent ones delay nobody else's, and hold no worker that others need.
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import type { Reader } from "../../../kube/cache/reader.ts";
import { findTenancy } from "../tenancy.ts";

/** A broker, and who answers for it: an org for the brokers of its spaces, each of the platform's for itself. */
export interface PacedBroker {
  namespace: string;
  name: string;
  tenant: string;
}

export interface BrokerPace {
  /** A place among the requests under way, and how to give it back; undefined while the broker is at its concurrency limit. */
  take(broker: PacedBroker): (() => void) | undefined;
  /** Runs `call` now; undefined when there is no place. */
  run<T>(broker: PacedBroker, call: () => Promise<T>): Promise<T | undefined>;
}

export interface PaceLimits {
  /** Requests of one broker. */
  broker: number;
  /** Requests at once to all brokers of one space. */
  space: number;
  /** Requests at once to all brokers of spaces, and as many to those of the platform. */
  pool: number;
}

/** Fewer in both pools together than a controller has workers, so that whatever asks no broker goes on. */
const LIMITS: PaceLimits = { broker: 4, space: 4, pool: 22 };
/** A broker that took so long is asked one thing at a time until it answers sooner. */
const SLOW_MS = 20_000;
const MAX_SLOW = 10_000;

export function toPacedBroker({ metadata: { namespace = "", name } }: KubeObject, read: Reader): PacedBroker {
  if (namespace === SYSTEM_NAMESPACE) return { namespace, name, tenant: name };
  return { namespace, name, tenant: findTenancy(read, namespace)?.orgObjectName ?? namespace };
}

export function createBrokerPace(limits: PaceLimits = LIMITS, now: () => number = () => performance.now()): BrokerPace {
  const counts = new Map<string, number>();
  const slow = new Set<string>();
  const count = (key: string): number => counts.get(key) ?? 0;
  const add = (key: string, change: 1 | -1): void => {
    const after = count(key) + change;
    if (after > 0) counts.set(key, after);
    else counts.delete(key);
  };

  function isFree({ pool, tenant, space, broker }: Keys): boolean {
    if (count(broker) >= (slow.has(broker) ? 1 : limits.broker)) return false;
    if (space !== undefined && count(space) >= limits.space) return false;
    // As much as is left for everybody else, so that who comes later finds a place as well.
    return count(tenant) < limits.pool - count(pool);
  }

  function take(of: PacedBroker): (() => void) | undefined {
    const keys = keysOf(of);
    if (!isFree(keys)) return undefined;
    const taken = Object.values(keys).filter((key) => key !== undefined);
    const start = now();
    for (const key of taken) add(key, 1);
    return () => {
      for (const key of taken) add(key, -1);
      slow.delete(keys.broker);
      if (now() - start >= SLOW_MS && slow.size < MAX_SLOW) slow.add(keys.broker);
    };
  }

  return {
    take,
    async run(broker, call) {
      const giveBack = take(broker);
      if (!giveBack) return undefined;
      try {
        return await call();
      } finally {
        giveBack();
      }
    },
  };
}

interface Keys {
  pool: string;
  tenant: string;
  space: string | undefined;
  broker: string;
}

function keysOf({ namespace, name, tenant }: PacedBroker): Keys {
  const pool = namespace === SYSTEM_NAMESPACE ? "platform" : "spaces";
  return {
    pool,
    tenant: `${pool} ${tenant}`,
    space: pool === "spaces" ? `space ${namespace}` : undefined,
    broker: `broker ${namespace}/${name}`,
  };
}
