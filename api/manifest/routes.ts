// Routes of a manifest: found or created, and mapped to the app's web process.
import { isDeepStrictEqual } from "node:util";
import type { App } from "../../crds/app/app.ts";
import { Claim } from "../../crds/claim/claim.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { mayBeDefault } from "../../crds/domain/protocols.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import { Org } from "../../crds/org/org.ts";
import { isAvailableIn, leadsTo, toDestinationNamespace } from "../../crds/route/destinations.ts";
import { Route, type Destination } from "../../crds/route/route.ts";
import { foldHost, foldPath } from "../../crds/route/route-url.ts";
import { toCFError } from "../http/error-translation.ts";
import { CFError, unprocessable } from "../http/errors.ts";
import { appKey } from "../cf/app/owner-app.ts";
import { domainOf, isUsableBy } from "../cache/domains.ts";
import { createRoute } from "../cf/route/create-route.ts";
import { mergeRouteOptions, toOptionsPatch, type RouteOptionsInput } from "../cf/route/route-options.ts";
import { unmapApp } from "../cf/route/unmap-app.ts";
import { creationSortKey } from "../../crds/guid.ts";
import type { Session } from "../access/session.ts";
import { defaultHost, parseRoute, randomHost, splitHost } from "./route-address.ts";
import { routeOptionsOf, type Application } from "./schema.ts";

interface DesiredRoute {
  /** As the manifest writes it. */
  text: string;
  host: string;
  domain: Domain;
  path: string;
  port: number;
  protocol?: Destination["protocol"];
  options?: RouteOptionsInput;
}

/** Maps the entry's routes; `no-route` unmaps all. @throws CFError 422 */
export async function applyRoutes(session: Session, app: App, entry: Application): Promise<void> {
  const mapped = session.list(Route, { index: ["app", appKey(app)] });
  if (entry["no-route"]) return unmapAll(session, app, mapped);
  const pairs: { route: Route; wanted: DesiredRoute }[] = [];
  // As in CF, every route is found or created before the first is mapped.
  for (const wanted of desiredRoutes(session, app, entry, mapped.length > 0))
    pairs.push({ wanted, route: await forRoute(wanted, () => provideRoute(session, app, wanted)) });
  for (const { route, wanted } of pairs) await mapRoute(session, app, route, wanted);
}

/** CF says it without the route. */
const DIFFERENT_SPACES = "Routes cannot be mapped to destinations in different spaces";

/** Names the route in a refusal of what `work` does to it. */
async function forRoute<T>({ text }: DesiredRoute, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    const error = toCFError(thrown);
    if (error.key !== "UnprocessableEntity" || error.message === DIFFERENT_SPACES) throw thrown;
    throw unprocessable(`For route '${text}': ${error.message}`, { cause: thrown });
  }
}

async function unmapAll(session: Session, app: App, routes: readonly Route[]): Promise<void> {
  for (const route of routes) await unmapApp(session, route, app);
}

function desiredRoutes(session: Session, app: App, entry: Application, hasRoutes: boolean): DesiredRoute[] {
  const domains = listUsableDomains(session, app.metadata.namespace);
  if (entry.routes)
    return entry.routes.map((one) => {
      const options = routeOptionsOf(one);
      return {
        ...resolveRoute(one.route, domains),
        ...(one.protocol && { protocol: one.protocol }),
        ...(options && { options }),
      };
    });
  if (hasRoutes || !(entry["default-route"] || entry["random-route"])) return [];
  const domain = domains.find(mayBeDefault);
  if (!domain) throw unprocessable("No default domains available: create a domain for this org, or push with no-route");
  const host = entry["random-route"] ? randomHost(displayNameOf(app), Math.random) : defaultHost(displayNameOf(app));
  if (!host) throw unprocessable(noDefaultHost(displayNameOf(app), `${app.metadata.name}.${domain.spec.name}`));
  return [{ text: `${host}.${domain.spec.name}`, host, domain, path: "", port: 0 }];
}

/** CF's refusal of an app's name as a host, and a next step. */
function noDefaultHost(name: string, example: string): string {
  const why =
    name.length > 63
      ? "Host cannot exceed 63 characters"
      : 'Host must be either "*" or contain only alphanumeric characters, "_", or "-"';
  return `Failed to create default route from app name: ${why}. Give it a route, for example ${example}`;
}

/** Domains that the org of a space's namespace may use; shared ones first, oldest first. */
export function listUsableDomains(session: Session, namespace: string | undefined): Domain[] {
  const org = session.cache.orgOf(session.cache.spaceOf(namespace)?.metadata.namespace);
  if (!org || !session.canSee(Org, org)) return [];
  const isShared = (domain: Domain): number => (domain.metadata.namespace === org.status?.namespace ? 1 : 0);
  return session
    .list(Domain)
    .filter((domain) => isUsableBy(domain, org))
    .sort((one, other) => isShared(one) - isShared(other) || (creationSortKey(one) < creationSortKey(other) ? -1 : 1));
}

function resolveRoute(text: string, domains: readonly Domain[]): DesiredRoute {
  const address = parseRoute(text);
  const named = (name: string): Domain | undefined => domains.find((domain) => domain.spec.name === name);
  const split = address && splitHost(address.hostname, (name) => named(name) !== undefined);
  const domain = split && named(split.domain);
  if (!address || !split || !domain) throw unprocessable(`No domains exist for route ${text}`);
  return { text, host: split.host, domain, path: address.path, port: address.port };
}

/** The app's route with this address and these options: found in its space or shared with it, else created. */
async function provideRoute(session: Session, app: App, wanted: DesiredRoute): Promise<Route> {
  if (wanted.protocol === "tcp" && wanted.port === 0)
    throw unprocessable("Cannot use 'tcp' protocol for http routes; valid options are: [http1, http2].");
  const found = findRoute(session, app, wanted);
  if (!found) return makeRoute(session, app, wanted);
  const { options } = wanted;
  const merged = options && mergeRouteOptions(found.spec.options, options);
  if (!merged || isDeepStrictEqual(merged, found.spec.options)) return found;
  return session.patch(Route, found, { type: "merge", body: { spec: { options: toOptionsPatch(merged) } } });
}

async function mapRoute(session: Session, app: App, route: Route, wanted: DesiredRoute): Promise<void> {
  await session.patchWithRetry(Route, route, ({ spec }) => {
    const mine = spec.destinations.find((one) => leadsTo(route, one, app.metadata) && one.process === "web");
    // A route without a protocol in the manifest keeps the protocol of its existing destination.
    const protocol = spec.port === 0 ? (wanted.protocol ?? mine?.protocol ?? "http1") : "tcp";
    if (mine?.protocol === protocol) return undefined;
    const others = spec.destinations.filter((one) => one !== mine);
    return {
      spec: {
        destinations: [
          ...others,
          {
            ...mine,
            app: app.metadata.name,
            namespace: toDestinationNamespace(route, app.metadata.namespace),
            process: "web",
            port: mine?.port ?? 0,
            protocol,
          },
        ],
      },
    };
  });
}

function findRoute(session: Session, app: App, wanted: DesiredRoute): Route | undefined {
  return session
    .list(Route, { index: ["domain", wanted.domain.metadata.name] })
    .find((route) => isAvailableIn(route, app.metadata.namespace) && isAt(session, route, wanted));
}

function isAt({ cache }: Session, route: Route, { host, domain, path, port }: DesiredRoute): boolean {
  return (
    foldHost(route.spec.host) === foldHost(host) &&
    route.spec.port === port &&
    foldPath(route.spec.path) === foldPath(path) &&
    domainOf(cache, route)?.metadata.uid === domain.metadata.uid
  );
}

async function makeRoute(session: Session, app: App, wanted: DesiredRoute): Promise<Route> {
  const { host, domain, path, port, options, protocol = "http1" } = wanted;
  const destinations: Destination[] = [{ app: app.metadata.name, namespace: "", process: "web", port: 0, protocol }];
  const { namespace = "" } = app.metadata;
  const address = { namespace, domain, host, path, port };
  const draft = { ...address, destinations, ...(options && { options: mergeRouteOptions(undefined, options) }) };
  const elsewhere = (): CFError => unprocessable(DIFFERENT_SPACES);
  try {
    return await createRoute(session, draft, elsewhere);
  } catch (error) {
    // Another client may just have made it in this space, which this replica need not have seen yet.
    const isLost = error instanceof CFError && error.message === DIFFERENT_SPACES;
    const isHere = (): boolean => findRoute(session, app, wanted) !== undefined;
    if (isLost) await session.holdWhile([Route, Claim], () => !isHere() && !isElsewhere(session, app, wanted));
    if (isLost && isHere()) return provideRoute(session, app, wanted);
    if (isElsewhere(session, app, wanted)) throw elsewhere();
    throw error;
  }
}

/** Whether a space that does not share the route has one at this address, visible to the caller or not. */
function isElsewhere(session: Session, { metadata: { namespace } }: App, wanted: DesiredRoute): boolean {
  const others = session.cache.store(Route).byIndex("domain", wanted.domain.metadata.name);
  return [...others].some((route) => !isAvailableIn(route, namespace) && isAt(session, route, wanted));
}
