// The name of a RoutePolicy, so that the same policy is the same object; its source in parts; the sources that a domain allows; the policies that a route may have. Pure.
import { hash } from "node:crypto";
import type { Domain } from "../domain/domain.ts";
import { ageSortKey } from "../guid.ts";
import type { RoutePolicy } from "./route-policy.ts";

export const ANY_SOURCE = "cf:any";

/** The API refuses more; of those that another door makes, the condition of the younger ones says so. */
export const MAX_POLICIES_OF_ROUTE = 500;

export function routePolicyName({ routeRef, source }: RoutePolicy["spec"]): string {
  return `route-policy-${hash("sha256", `${routeRef.name}\0${source}`).slice(0, 32)}`;
}

export interface Source {
  type: "any" | "app" | "space" | "org";
  /** Empty for any. */
  guid: string;
}

export function toSource(source: string): Source {
  const [, type = "any", guid = ""] = source.split(":");
  return { type: type as Source["type"], guid };
}

/** Whether the domain's scope allows the source: with scope space, no whole org. */
export function isInScope(source: string, { spec }: Pick<Domain, "spec">): boolean {
  return spec.routePolicies?.scope !== "space" || toSource(source).type !== "org";
}

/** Finds the older policy of the route that excludes one: any where one of both is cf:any, or one with the same source. */
export type ConflictFinder = (policy: RoutePolicy) => RoutePolicy | undefined;

/** `ofRoute`: all policies of one route. The oldest is never excluded, so it decides whether the route has cf:any or others. */
export function findConflicts(ofRoute: readonly RoutePolicy[]): ConflictFinder {
  const oldestOf = new Map<string, RoutePolicy>();
  let oldest: RoutePolicy | undefined;
  for (const each of ofRoute) {
    if (each.metadata.deletionTimestamp !== undefined) continue;
    oldest = pickOlder(oldest, each);
    oldestOf.set(each.spec.source, pickOlder(oldestOf.get(each.spec.source), each));
  }
  return (policy) => {
    const { source } = policy.spec;
    const isMixed = oldest?.spec.source !== source && [oldest?.spec.source, source].includes(ANY_SOURCE);
    const first = isMixed ? oldest : oldestOf.get(source);
    return first?.metadata.name === policy.metadata.name ? undefined : first;
  };
}

function pickOlder(one: RoutePolicy | undefined, other: RoutePolicy): RoutePolicy {
  return one && ageSortKey(one) <= ageSortKey(other) ? one : other;
}

/** Has the route as many older policies as it may have? */
export function isOneTooMany(policy: RoutePolicy, ofRoute: readonly RoutePolicy[]): boolean {
  if (ofRoute.length <= MAX_POLICIES_OF_ROUTE) return false;
  const key = ageSortKey(policy);
  const older = ofRoute.filter((each) => each.metadata.deletionTimestamp === undefined && ageSortKey(each) < key);
  return older.length >= MAX_POLICIES_OF_ROUTE;
}
