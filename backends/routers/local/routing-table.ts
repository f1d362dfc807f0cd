// The routing table: which route a host and path mean, and which endpoints stand behind it. Kept up to date by pieces; no I/O, no clock.

/** No route's hostname or path is longer, so that more of a request need not be looked at. */
const MAX_HOST = 253;
const MAX_PATH = 128;

/** A process that a route leads to. */
export interface Destination {
  appGUID: string;
  /** Object name of the app, for messages. */
  app: string;
  processType: string;
  port: number;
  /** The process speaks HTTP/2 without TLS, from the first byte on. */
  http2?: true;
}

/** A route as the table knows it. `hostname` may begin with `*.`; `path` is empty or begins with a slash. */
export interface RouteEntry {
  guid: string;
  /** Namespace of its space. */
  space: string;
  hostname: string;
  path: string;
  destinations: readonly Destination[];
  /** Round-robin unless said. */
  loadBalancing?: "round-robin" | "least-connection" | "hash";
  /** For `hash`: name of the header in lower case. */
  hashHeader?: string;
  /** For `hash`: an instance with more than this many times the average of requests under way is passed over; 0 means no limit. */
  hashBalance?: number;
  /** URL of the route service that gets the requests first. */
  routeService?: string;
  /** Only programs of this machine reach it. */
  internal?: true;
  /** Where two routes say the same, the one that is first in this order serves. */
  order: string;
}

/** An instance that takes requests. */
export interface Endpoint {
  appGUID: string;
  processGUID: string;
  processType: string;
  /** Port of the process, as destinations name it. */
  port: number;
  host: string;
  hostPort: number;
  index: number;
  instanceGUID: string;
  /** A Service, which chooses the instance; index and instanceGUID say nothing then. */
  isService?: true;
}

/** Result of a lookup: a route with endpoints, a route without, or nothing. */
export interface Match {
  route: RouteEntry;
  endpoints: readonly Endpoint[];
}

export interface RoutingTable {
  /** Adds, replaces or (undefined) removes what a RouteBinding says. */
  setRoute(key: string, route: RouteEntry | undefined): void;
  /** Replaces the endpoints of one LRP. */
  setEndpoints(lrp: string, endpoints: readonly Endpoint[]): void;
  /**
   * The route for a host (without port) and a path (a query is ignored): the exact host before wildcards, the longest path by
   * whole segments. A route without endpoints stands back behind a more general one of its space that has some, but is better than nothing: another space
   * must not get the requests, with their cookies, of an app that is stopped or starts.
   */
  find(host: string, path: string): Match | undefined;
  /** The endpoints of these destinations. */
  endpointsOf(route: Pick<RouteEntry, "destinations">): readonly Endpoint[];
  /** Number of routes. */
  readonly size: number;
  /** Number of (app, process type, port) with endpoints. */
  readonly targets: number;
}

/** An empty table. */
export function createRoutingTable(): RoutingTable {
  const routes = new Map<string, RouteEntry>();
  const byAddress = new Map<string, Map<string, RouteEntry[]>>();
  const byLrp = new Map<string, readonly Endpoint[]>();
  const byTarget = new Map<string, Map<string, Endpoint[]>>();

  const endpointsOf = (route: Pick<RouteEntry, "destinations">): Endpoint[] =>
    route.destinations.flatMap((target) => [...(byTarget.get(targetKey(target))?.values() ?? [])].flat());
  const candidates = function* (host: string, path: string): Generator<RouteEntry> {
    for (const name of hostsFor(host.toLowerCase())) {
      const paths = byAddress.get(name);
      if (!paths) continue;
      for (const prefix of prefixesOf(path)) {
        const [route] = paths.get(prefix) ?? [];
        if (route) yield route;
      }
    }
  };
  return {
    get size() {
      return routes.size;
    },
    get targets() {
      return byTarget.size;
    },
    setRoute(key, route) {
      const before = routes.get(key);
      if (before) unindexRoute(byAddress, before);
      routes.delete(key);
      if (!route) return;
      routes.set(key, route);
      indexRoute(byAddress, route);
    },
    setEndpoints(lrp, endpoints) {
      for (const endpoint of byLrp.get(lrp) ?? []) unindexTarget(byTarget, targetKey(endpoint), lrp);
      byLrp.delete(lrp);
      if (endpoints.length === 0) return;
      byLrp.set(lrp, endpoints);
      for (const [target, group] of Map.groupBy(endpoints, targetKey)) {
        const lrps = byTarget.get(target) ?? new Map<string, Endpoint[]>();
        byTarget.set(target, lrps.set(lrp, group));
      }
    },
    endpointsOf,
    find(host, path) {
      let fallback: Match | undefined;
      for (const route of candidates(host, path)) {
        if (fallback && route.space !== fallback.route.space) continue;
        const endpoints = endpointsOf(route);
        if (endpoints.length > 0) return { route, endpoints };
        fallback ??= { route, endpoints };
      }
      return fallback;
    },
  };
}

type ByAddress = Map<string, Map<string, RouteEntry[]>>;

function indexRoute(byAddress: ByAddress, route: RouteEntry): void {
  const paths = byAddress.get(route.hostname.toLowerCase()) ?? new Map<string, RouteEntry[]>();
  byAddress.set(route.hostname.toLowerCase(), paths);
  const path = normalizePath(route.path);
  paths.set(
    path,
    [...(paths.get(path) ?? []), route].sort((a, b) => (a.order < b.order ? -1 : 1)),
  );
}

function unindexRoute(byAddress: ByAddress, route: RouteEntry): void {
  const host = route.hostname.toLowerCase();
  const paths = byAddress.get(host);
  const path = normalizePath(route.path);
  const rest = (paths?.get(path) ?? []).filter((each) => each !== route);
  if (rest.length > 0) paths?.set(path, rest);
  else paths?.delete(path);
  if (paths?.size === 0) byAddress.delete(host);
}

function unindexTarget(byTarget: Map<string, Map<string, Endpoint[]>>, target: string, lrp: string): void {
  const lrps = byTarget.get(target);
  lrps?.delete(lrp);
  if (lrps?.size === 0) byTarget.delete(target);
}

function targetKey({ appGUID, processType, port }: Pick<Destination, "appGUID" | "processType" | "port">): string {
  return `${appGUID}/${processType}/${port}`;
}

/** The host itself, then wildcards over ever more labels: a.b.c, *.b.c, *.c. Nothing for one that is longer than any route's. */
function* hostsFor(host: string): Generator<string> {
  if (host.length > MAX_HOST) return;
  yield host;
  for (let dot = host.indexOf("."); dot >= 0; dot = host.indexOf(".", dot + 1)) yield `*${host.slice(dot)}`;
}

/** `/a/b/c`, `/a/b`, `/a` and the empty path. The character after the longest prefix is looked at too: it may end a segment. */
function* prefixesOf(path: string): Generator<string> {
  const clean = normalizePath(path.slice(0, MAX_PATH + 1).split("?", 1)[0] ?? "");
  for (let end = clean.length; end > 0; end = clean.lastIndexOf("/", end - 1))
    if (end <= MAX_PATH) yield clean.slice(0, end);
  yield "";
}

/** Lower case, as the match ignores case, and without slashes at the end. */
function normalizePath(path: string): string {
  let end = path.length;
  while (path[end - 1] === "/") end -= 1;
  return path.slice(0, end).toLowerCase();
}
