// Which endpoint takes a request: the one a header names, else the next in turn that did not just fail.
import { LRUCache } from "lru-cache";
import type { Endpoint } from "./routing-table.ts";

/** An endpoint that refused is passed over for this long, while others are there. */
const failureTtlMs = 30_000;

/** Chooses among a route's endpoints. */
export interface EndpointChooser {
  /** The next in turn; undefined when all were tried. */
  next(route: string, endpoints: readonly Endpoint[], tried: ReadonlySet<Endpoint>): Endpoint | undefined;
  markFailed(endpoint: Endpoint): void;
}

/** Round-robin with a turn per route. */
export function createEndpointChooser(): EndpointChooser {
  const turns = new LRUCache<string, number>({ max: 10_000 });
  const failures = new LRUCache<string, true>({ max: 10_000, ttl: failureTtlMs });
  return {
    next(route, endpoints, tried) {
      const untried = endpoints.filter((endpoint) => !tried.has(endpoint));
      const healthy = untried.filter((endpoint) => !failures.has(endpoint.instanceGUID));
      const pool = healthy.length > 0 ? healthy : untried;
      const turn = turns.get(route) ?? 0;
      turns.set(route, (turn + 1) % 1_000_000);
      return pool[turn % pool.length];
    },
    markFailed: (endpoint) => void failures.set(endpoint.instanceGUID, true),
  };
}

/** What the headers X-CF-App-Instance and X-CF-Process-Instance ask for. */
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

/** The endpoints that fit the wish. */
export function filterEndpoints(
  endpoints: readonly Endpoint[],
  selector: Exclude<InstanceSelector, { invalid: string }>,
): Endpoint[] {
  return endpoints.filter(
    (each) =>
      (selector.app === undefined || each.appGUID === selector.app) &&
      (selector.process === undefined || each.processGUID === selector.process) &&
      (selector.index === undefined || each.index === selector.index),
  );
}
