// Router groups as CF has them: router classes with TCP ports, and the free ones of a domain.
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import {
  findFreePort,
  findRouterGroup,
  listRouterGroups,
  type RouterGroup,
} from "../../../crds/backend-class/router-group.ts";
import { Domain } from "../../../crds/domain/domain.ts";
import { isTCPDomain } from "../../../crds/domain/protocols.ts";
import { Route } from "../../../crds/route/route.ts";
import type { ClusterCache } from "../../cache/cluster-cache.ts";
import { type CFError, unprocessable } from "../../http/errors.ts";

type Cached = { cache: ClusterCache };

export function routerGroupsOf({ cache }: Cached): RouterGroup[] {
  return listRouterGroups(cache.store(BackendClass).list({ partial: true }));
}

/** Undefined for a domain of HTTP, and where its router has no TCP ports. */
export function findDomainGroup({ cache }: Cached, domain: Domain): RouterGroup | undefined {
  const router = isTCPDomain(domain) ? cache.store(BackendClass).find({ name: domain.spec.router ?? "" }) : undefined;
  return router && findRouterGroup(router);
}

/** A port that no route of the domain's router has. @throws CFError 422 when all are taken */
export function chooseFreePort(session: Cached, domain: Domain): number {
  const { cache } = session;
  const group = findDomainGroup(session, domain);
  const siblings = cache
    .store(Domain)
    .list({ partial: true })
    .filter((one) => isTCPDomain(one) && one.spec.router === domain.spec.router);
  const names = new Set(siblings.map(({ metadata }) => metadata.name));
  const routes = [...names].flatMap((name) => [...cache.store(Route).byIndex("domain", name)]);
  const port = group && findFreePort(group, new Set(routes.map(({ spec }) => spec.port)), Math.random());
  if (port === undefined)
    throw unprocessable(
      `There are no more ports available for router group: ${group?.name ?? domain.spec.router ?? ""}. Please contact your administrator for more information.`,
    );
  return port;
}

export function portUnavailable(port: number): CFError {
  return unprocessable(`Port '${port}' is not available. Try a different port or use a different domain.`);
}
