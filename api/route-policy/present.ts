// Presents a RoutePolicy as CF's JSON.
import { Route } from "../../crds/route/route.ts";
import { RoutePolicy } from "../../crds/route-policy/route-policy.ts";
import { toSource } from "../../crds/route-policy/rules.ts";
import type { ClusterCache, ObjectFinder } from "../cache/cluster-cache.ts";
import { link, presentIdentity, presentMetadata, toOneRelationship } from "../http/presentation.ts";

/** The route of a policy; undefined when the reference dangles. */
export function routeOfPolicy(cache: ObjectFinder, { metadata, spec }: RoutePolicy): Route | undefined {
  return cache.store(Route).find({ namespace: metadata.namespace ?? "", name: spec.routeRef.name });
}

const SOURCES = [
  { type: "app", relationship: "app", path: "apps" },
  { type: "space", relationship: "space", path: "spaces" },
  { type: "org", relationship: "organization", path: "organizations" },
] as const;

export function presentRoutePolicy(cache: ClusterCache, policy: RoutePolicy, base: string): object {
  const at = presentIdentity(cache, RoutePolicy, policy);
  const route = routeOfPolicy(cache, policy);
  const routeGUID = route ? cache.guid(Route, route) : "";
  const { type, guid } = toSource(policy.spec.source);
  const ofSource = SOURCES.filter((one) => one.type === type);
  return {
    ...at,
    source: policy.spec.source,
    ...presentMetadata(policy),
    relationships: {
      route: { data: { guid: routeGUID } },
      ...Object.fromEntries(
        SOURCES.map((one) => [one.relationship, toOneRelationship(one.type === type ? guid : undefined)]),
      ),
    },
    links: {
      self: link(`${base}/v3/route_policies/${at.guid}`),
      route: link(`${base}/v3/routes/${routeGUID}`),
      ...Object.fromEntries(
        ofSource.map(({ relationship, path }) => [relationship, link(`${base}/v3/${path}/${guid}`)]),
      ),
    },
  };
}
