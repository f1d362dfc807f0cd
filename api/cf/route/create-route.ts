// Creates the Route of a create body or a manifest, unless its address is taken.
import type { Domain } from "../../../crds/domain/domain.ts";
import { isSharedDomain } from "../../../crds/domain/resolve-domain.ts";
import { Route, type Destination } from "../../../crds/route/route.ts";
import { routeURL } from "../../../crds/route/route-url.ts";
import { type CFError, unprocessable } from "../../http/errors.ts";
import type { Session } from "../../access/session.ts";
import { requireRouteQuota } from "../quota/check.ts";
import { domainOf } from "../../cache/domains.ts";
import { checkAddress, checkHost } from "./route-address.ts";
import { toNamedMetadata } from "../free-object-name.ts";

export interface NewRoute {
  namespace: string;
  domain: Domain;
  host: string;
  path: string;
  port: number;
  destinations?: readonly Destination[];
  options?: Route["spec"]["options"];
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

/** Creates the Route as the caller. `taken` is the error when the address is in use. @throws CFError 403, 422 */
export async function createRoute(session: Session, wanted: NewRoute, taken: () => CFError): Promise<Route> {
  const { namespace, domain, host, path, port } = wanted;
  checkAddress(session, domain, { host, path, port }, namespace);
  const url = routeURL({ host, path, port }, domain.spec.name);
  const { labels, annotations = {} } = wanted;
  const named = { namespace, name: url, fallback: "route", labels, annotations };
  const metadata = toNamedMetadata(session.cache, Route, named);
  const spec: Route["spec"] = {
    host,
    path,
    port,
    domainRef: { name: domain.metadata.name },
    destinations: toProtocol(wanted.destinations ?? [], port),
    ...(host === "*" && isSharedDomain(domain) && { sharedWildcard: true }),
    ...(wanted.options && { options: wanted.options }),
  };
  checkResolvedDomain(session, domain, { metadata, spec });
  requireRouteQuota(session, namespace, port);
  const made = await session.create(Route, { metadata, spec }, taken);
  if (port !== 0) return made;
  try {
    // Another space may have claimed the host concurrently. The later route is removed.
    checkHost(session, domain, host, namespace);
  } catch (error) {
    await session.delete(Route, made);
    throw error;
  }
  return made;
}

/** A port leads to processes by TCP. */
function toProtocol(destinations: readonly Destination[], port: number): Destination[] {
  return destinations.map((one) => (port === 0 ? one : { ...one, protocol: "tcp" }));
}

/** Rejects an ambiguous domain: routes name their domain by object name, and another Domain visible to this org may share it. @throws CFError 422 */
export function checkResolvedDomain(
  { cache }: Pick<Session, "cache">,
  wanted: Domain,
  route: Parameters<typeof domainOf>[1],
): void {
  if (domainOf(cache, route)?.metadata.uid === wanted.metadata.uid) return;
  const org = cache.orgOf(cache.spaceOf(route.metadata.namespace)?.metadata.namespace);
  throw unprocessable(
    `Invalid domain. In organization '${org?.spec.name ?? ""}' the object name '${wanted.metadata.name}' means another domain than '${wanted.spec.name}'.`,
  );
}
