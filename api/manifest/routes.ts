// Routes of a manifest: found or created, and mapped to the app's web process.
import type { App } from "../../crds/app/app.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import { Org } from "../../crds/org/org.ts";
import { Route, type Destination } from "../../crds/route/route.ts";
import { foldHost, foldPath, routeURL } from "../../crds/route/route-url.ts";
import { unprocessable } from "../http/errors.ts";
import { appKey } from "../cf/app/owner-app.ts";
import { domainOf, isUsableBy } from "../cf/route/domains.ts";
import { createRoute } from "../cf/route/create-route.ts";
import { unmapApp } from "../cf/route/unmap-app.ts";
import { creationSortKey } from "../../crds/guid.ts";
import type { Session } from "../access/session.ts";
import { defaultHost, parseRoute, randomHost, splitHost } from "./route-address.ts";
import type { Application } from "./schema.ts";

interface DesiredRoute {
  host: string;
  domain: Domain;
  path: string;
  port: number;
  protocol?: Destination["protocol"];
}

/** Maps the entry's routes; `no-route` unmaps all. @throws CFError 422 */
export async function applyRoutes(session: Session, app: App, entry: Application): Promise<void> {
  const mapped = session.list(Route, { index: ["app", appKey(app)] });
  if (entry["no-route"]) return unmapAll(session, app, mapped);
  for (const wanted of desiredRoutes(session, app, entry, mapped.length > 0)) await mapRoute(session, app, wanted);
}

async function unmapAll(session: Session, app: App, routes: readonly Route[]): Promise<void> {
  for (const route of routes) await unmapApp(session, route, app);
}

function desiredRoutes(session: Session, app: App, entry: Application, hasRoutes: boolean): DesiredRoute[] {
  const domains = listUsableDomains(session, app.metadata.namespace);
  if (entry.routes)
    return entry.routes.map(({ route, protocol }) => ({
      ...resolveRoute(route, domains),
      ...(protocol && { protocol }),
    }));
  if (hasRoutes || !(entry["default-route"] || entry["random-route"])) return [];
  const domain = domains.find((one) => !one.spec.internal);
  if (!domain)
    throw unprocessable(
      "No default domain: the platform has no domain for this org. Create one, or push with no-route.",
    );
  const host = entry["random-route"] ? randomHost(displayNameOf(app), Math.random) : defaultHost(displayNameOf(app));
  if (!host)
    throw unprocessable(
      `The app's name is no host. Give it a route, for example ${app.metadata.name}.${domain.spec.name}`,
    );
  return [{ host, domain, path: "", port: 0 }];
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
  if (!address || !split || !domain) throw unprocessable(`The route '${text}' did not match any existing domains.`);
  return { host: split.host, domain, path: address.path, port: address.port };
}

async function mapRoute(session: Session, app: App, wanted: DesiredRoute): Promise<void> {
  const route = findRoute(session, app, wanted) ?? (await makeRoute(session, app, wanted));
  await session.patchWithRetry(Route, route, ({ spec }) => {
    const mine = spec.destinations.find((one) => one.app === app.metadata.name && one.process === "web");
    // A route without a protocol in the manifest keeps the protocol of its existing destination.
    const protocol = wanted.protocol ?? mine?.protocol ?? "http1";
    if (mine?.protocol === protocol) return undefined;
    const others = spec.destinations.filter((one) => one !== mine);
    return {
      spec: {
        destinations: [...others, { ...mine, app: app.metadata.name, process: "web", port: mine?.port ?? 0, protocol }],
      },
    };
  });
}

function findRoute(session: Session, app: App, { host, domain, path, port }: DesiredRoute): Route | undefined {
  const same = (route: Route): boolean =>
    foldHost(route.spec.host) === foldHost(host) &&
    route.spec.port === port &&
    foldPath(route.spec.path) === foldPath(path) &&
    domainOf(session.cache, route)?.metadata.uid === domain.metadata.uid;
  return session
    .list(Route, { index: ["domain", domain.metadata.name] })
    .find((route) => route.metadata.namespace === app.metadata.namespace && same(route));
}

async function makeRoute(session: Session, app: App, { host, domain, path, port }: DesiredRoute): Promise<Route> {
  const destinations: Destination[] = [{ app: app.metadata.name, process: "web", port: 0, protocol: "http1" }];
  const url = routeURL({ host, path, port }, domain.spec.name);
  const taken = () => unprocessable(`The route ${url} is already in use by another space, or its host is reserved.`);
  return createRoute(
    session,
    { namespace: app.metadata.namespace ?? "", domain, host, path, port, destinations },
    taken,
  );
}
