// The resources that `include=` adds to a reply: spaces, orgs, domains and users, without duplicates, and only those that the caller can see.
import { App } from "../../crds/app/app.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { Org } from "../../crds/org/org.ts";
import { Route } from "../../crds/route/route.ts";
import type { ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { Space } from "../../crds/space/space.ts";
import { presentApp } from "../app/present.ts";
import { appOf } from "../cf/app/owner-app.ts";
import { instanceOf } from "../cf/service/bindings.ts";
import { routeOf } from "../cf/service/route-bindings.ts";
import { presentInstance } from "../service-instance/present.ts";
import { presentDomain } from "../domain/present.ts";
import { domainOf } from "../cache/domains.ts";
import { presentRoute } from "../route/present.ts";
import { presentOrg } from "../org/present.ts";
import type { Session } from "../access/session.ts";
import { presentSpace } from "../space/present.ts";
import { presentUser } from "../user/present.ts";

/** The namespaces' spaces, for `include=space`; with `withOrgs` their orgs as well, for `include=space.organization`. */
export function includedSpaces(
  session: Session,
  base: string,
  namespaces: Iterable<string | undefined>,
  withOrgs: boolean,
): { spaces: object[]; organizations?: object[] } {
  const spaces = [...new Set(namespaces)]
    .flatMap((namespace) => session.cache.spaceOf(namespace) ?? [])
    .filter((space) => session.canSee(Space, space));
  return {
    spaces: spaces.map((space) => presentSpace(session.cache, space, base)),
    ...(withOrgs && {
      organizations: includedOrgs(
        session,
        base,
        spaces.map((space) => space.metadata.namespace),
      ),
    }),
  };
}

/** The orgs that own these org namespaces. */
export function includedOrgs(session: Session, base: string, namespaces: Iterable<string | undefined>): object[] {
  const orgs = [...new Set(namespaces)].flatMap((namespace) => session.cache.orgOf(namespace) ?? []);
  return orgs.filter((org) => session.canSee(Org, org)).map((org) => presentOrg(session.cache, org, base));
}

/** The domains of routes. */
export function includedDomains(session: Session, base: string, routes: readonly Route[]): object[] {
  const domains = new Set(routes.flatMap((route) => domainOf(session.cache, route) ?? []));
  return [...domains]
    .filter((domain) => session.canSee(Domain, domain))
    .map((domain) => presentDomain(session, domain, base));
}

/** Apps and service instances of bindings. */
export function includedBound(
  session: Session,
  base: string,
  bindings: readonly ServiceBinding[],
  include: readonly ("app" | "service_instance")[],
): { apps?: object[]; service_instances?: object[] } {
  const { cache } = session;
  const apps = new Set(bindings.flatMap((one) => appOf(cache, one) ?? []));
  const instances = new Set(bindings.flatMap((one) => instanceOf(cache, one) ?? []));
  return {
    ...(include.includes("app") && {
      apps: [...apps].filter((app) => session.canSee(App, app)).map((app) => presentApp(cache, app, base)),
    }),
    ...(include.includes("service_instance") && {
      service_instances: [...instances]
        .filter((one) => session.canSee(ServiceInstance, one))
        .map((one) => presentInstance(cache, one, base)),
    }),
  };
}

/** Routes and service instances of route bindings. */
export function includedOfRouteBindings(
  session: Session,
  base: string,
  bindings: readonly ServiceBinding[],
  include: readonly ("route" | "service_instance")[],
): { routes?: object[]; service_instances?: object[] } {
  const { cache } = session;
  const routes = new Set(bindings.flatMap((one) => routeOf(cache, one) ?? []));
  return {
    ...(include.includes("route") && {
      routes: [...routes].filter((one) => session.canSee(Route, one)).map((one) => presentRoute(cache, one, base)),
    }),
    ...(include.includes("service_instance") && includedBound(session, base, bindings, ["service_instance"])),
  };
}

/** Users by name. */
export function includedUsers(session: Session, base: string, names: Iterable<string>): object[] {
  return [...new Set(names)].map((name) => presentUser(session, name, base));
}
