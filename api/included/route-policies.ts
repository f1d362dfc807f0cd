// The resources that `include=` adds to route policies, and the policies that it adds to routes: only those that the caller can see.
import { App } from "../../crds/app/app.ts";
import { Org } from "../../crds/org/org.ts";
import { Route } from "../../crds/route/route.ts";
import { RoutePolicy } from "../../crds/route-policy/route-policy.ts";
import { toSource } from "../../crds/route-policy/rules.ts";
import { Space } from "../../crds/space/space.ts";
import type { Session } from "../access/session.ts";
import { presentApp } from "../app/present.ts";
import { presentOrg } from "../org/present.ts";
import { presentRoute } from "../route/present.ts";
import { presentRoutePolicy, routeOfPolicy } from "../route-policy/present.ts";
import { presentSpace } from "../space/present.ts";

export function includedOfRoutePolicies(
  session: Session,
  base: string,
  policies: readonly RoutePolicy[],
  include: readonly ("source" | "route")[],
): object {
  const { cache } = session;
  const routes = new Set(policies.flatMap((one) => routeOfPolicy(cache, one) ?? []));
  return {
    ...(include.includes("route") && {
      routes: [...routes].filter((one) => session.canSee(Route, one)).map((one) => presentRoute(cache, one, base)),
    }),
    ...(include.includes("source") && includedSources(session, base, policies)),
  };
}

/** A source that does not exist, or that the caller may not see, is left out. */
function includedSources(session: Session, base: string, policies: readonly RoutePolicy[]): object {
  const { cache } = session;
  const sources = policies.map(({ spec }) => toSource(spec.source));
  const guidsOf = (type: string): string[] => [
    ...new Set(sources.filter((one) => one.type === type).map(({ guid }) => guid)),
  ];
  return {
    apps: guidsOf("app")
      .flatMap((guid) => session.find(App, guid) ?? [])
      .map((app) => presentApp(cache, app, base)),
    spaces: guidsOf("space")
      .flatMap((guid) => session.find(Space, guid) ?? [])
      .map((space) => presentSpace(cache, space, base)),
    organizations: guidsOf("org")
      .flatMap((guid) => session.find(Org, guid) ?? [])
      .map((org) => presentOrg(cache, org, base)),
  };
}

/** The policies of routes. */
export function includedRoutePolicies(session: Session, base: string, routes: readonly Route[]): object[] {
  const { cache } = session;
  return routes
    .flatMap(({ metadata }) => cache.store(RoutePolicy).byIndex("route", `${metadata.namespace}/${metadata.name}`))
    .filter((policy) => session.canSee(RoutePolicy, policy))
    .map((policy) => presentRoutePolicy(cache, policy, base));
}
