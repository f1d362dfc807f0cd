// The resources that `include=` adds to route policies, and the policies that it adds to routes: only those that the caller can see.
import { App } from "../../crds/app/app.ts";
import { Org } from "../../crds/org/org.ts";
import { Route } from "../../crds/route/route.ts";
import { RoutePolicy } from "../../crds/route-policy/route-policy.ts";
import { toSource } from "../../crds/route-policy/rules.ts";
import { Space } from "../../crds/space/space.ts";
import type { Session } from "../access/session.ts";
import { type CFError, unprocessable } from "../http/errors.ts";
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

/** As many as the largest page of a list has objects. */
const MAX_INCLUDED = 5000;

/** The policies of routes. @throws CFError 422 for more than an answer may include */
export function includedRoutePolicies(session: Session, base: string, routes: readonly Route[]): object[] {
  const { cache } = session;
  const included: RoutePolicy[] = [];
  for (const { metadata } of routes)
    for (const policy of cache.store(RoutePolicy).byIndex("route", `${metadata.namespace}/${metadata.name}`)) {
      if (!session.canSee(RoutePolicy, policy)) continue;
      if (included.length >= MAX_INCLUDED) throw tooManyPolicies();
      included.push(policy);
    }
  return included.map((policy) => presentRoutePolicy(cache, policy, base));
}

function tooManyPolicies(): CFError {
  return unprocessable(
    `These routes have more than ${MAX_INCLUDED} route policies, the most that an answer includes. Ask for fewer routes by per_page, or list the policies by /v3/route_policies?route_guids=…`,
  );
}
