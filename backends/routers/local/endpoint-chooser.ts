// Which endpoint takes a request: the one a header names, else the next in turn that has room and did not just fail.
import { LRUCache } from "lru-cache";
import { chooseByHash } from "./hash-balancing.ts";
import type { Endpoint, RouteEntry } from "./routing-table.ts";

/** An endpoint that refused is passed over for this long, while others are there. */
const failureTtlMs = 30_000;

/** Requests and tunnels that one instance may have under way; gorouter's `backends.max_conns` in cf-deployment. */
export const maxRequestsPerInstance = 500;

/** Chooses among a route's endpoints, and keeps the bound of each instance. */
export interface EndpointChooser {
  /** Requests that one endpoint may have under way. */
  maxRequests: number;
  /**
   * The next in turn, the least busy one, or the one that `hashed` leads to, as the route says. It counts one request more until `release`; `busy` when the
   * rest have all they may have; undefined when all were tried. `hashed` is the value of the route's hash header.
   */
  acquire(
    route: Pick<RouteEntry, "guid" | "loadBalancing" | "hashBalance">,
    endpoints: readonly Endpoint[],
    tried: ReadonlySet<Endpoint>,
    hashed?: string,
  ): Endpoint | "busy" | undefined;
  release(endpoint: Endpoint): void;
  markFailed(endpoint: Endpoint): void;
}

/** Round-robin with a turn per route, by requests under way, or by the hash of a header. */
export function createEndpointChooser(maxRequests = maxRequestsPerInstance): EndpointChooser {
  const turns = new LRUCache<string, number>({ max: 10_000 });
  const failures = new LRUCache<string, true>({ max: 10_000, ttl: failureTtlMs });
  /** By instance; only those that have any. */
  const underWay = new Map<string, number>();
  const load = ({ instanceGUID }: Endpoint): number => underWay.get(instanceGUID) ?? 0;
  const choose = (
    { guid, loadBalancing, hashBalance = 0 }: Parameters<EndpointChooser["acquire"]>[0],
    pool: readonly Endpoint[],
    hashed: string | undefined,
  ): Endpoint | undefined => {
    // No choice takes no turn: the session of one instance would leave all plain requests to another.
    if (pool.length <= 1) return pool[0];
    if (loadBalancing === "hash" && hashed !== undefined)
      return chooseByHash(pool, hashed, { balance: hashBalance, load });
    const turn = turns.get(guid) ?? 0;
    turns.set(guid, (turn + 1) % 1_000_000);
    const candidates = loadBalancing === "least-connection" ? leastBusy(pool, load) : pool;
    return candidates[turn % candidates.length];
  };
  return {
    maxRequests,
    acquire(route, endpoints, tried, hashed) {
      const untried = endpoints.filter((endpoint) => !tried.has(endpoint));
      const free = untried.filter((endpoint) => load(endpoint) < maxRequests);
      const healthy = free.filter(({ instanceGUID }) => !failures.has(instanceGUID));
      const pool = healthy.length > 0 ? healthy : free;
      const chosen = choose(route, pool, hashed);
      if (!chosen) return untried.length > 0 ? "busy" : undefined;
      underWay.set(chosen.instanceGUID, load(chosen) + 1);
      return chosen;
    },
    release({ instanceGUID }) {
      const left = (underWay.get(instanceGUID) ?? 1) - 1;
      if (left > 0) underWay.set(instanceGUID, left);
      else underWay.delete(instanceGUID);
    },
    markFailed: (endpoint) => void failures.set(endpoint.instanceGUID, true),
  };
}

/** The endpoints with the fewest requests under way; turns decide among them. */
function leastBusy(endpoints: readonly Endpoint[], load: (endpoint: Endpoint) => number): Endpoint[] {
  const least = Math.min(...endpoints.map(load));
  return endpoints.filter((endpoint) => load(endpoint) === least);
}

/** Instance that the headers X-CF-App-Instance and X-CF-Process-Instance ask for. */
export type InstanceSelector = { app?: string; process?: string; index?: number } | { invalid: string };

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Reads the headers; undefined when neither is there. The app's needs an index, the process' may leave it out. */
export function readInstanceSelector(headers: Headers): InstanceSelector | undefined {
  const app = headers["x-cf-app-instance"];
  if (app !== undefined)
    return (
      parseInstanceSelector(app, /^([^:\s]+):(\d{1,5})$/, (guid) => ({ app: guid })) ?? {
        invalid: "invalid_cf_app_instance_header",
      }
    );
  const process = headers["x-cf-process-instance"];
  if (process === undefined) return undefined;
  return (
    parseInstanceSelector(process, /^([^:\s]+)(?::(\d{1,5}))?$/, (guid) => ({ process: guid })) ?? {
      invalid: "invalid_cf_process_instance_header",
    }
  );
}

function parseInstanceSelector(
  value: string | string[],
  shape: RegExp,
  of: (guid: string) => InstanceSelector,
): InstanceSelector | undefined {
  const match = shape.exec(String(value));
  if (!match?.[1]) return undefined;
  return { ...of(match[1]), ...(match[2] !== undefined && { index: Number(match[2]) }) };
}

/** The endpoints that the headers allow. */
export function filterEndpoints(
  endpoints: readonly Endpoint[],
  selector: Exclude<InstanceSelector, { invalid: string }>,
): Endpoint[] {
  const { app, process, index } = selector;
  // The web process is known by its app's GUID, also when a rollout has brought what it runs under a GUID of its own.
  const isKnown = endpoints.some((each) => each.processGUID === process);
  const isOfProcess = (each: Endpoint): boolean =>
    isKnown ? each.processGUID === process : each.appGUID === process && each.processType === "web";
  return endpoints.filter(
    (each) =>
      (app === undefined || each.appGUID === app) &&
      (process === undefined || isOfProcess(each)) &&
      (index === undefined || each.index === index),
  );
}
