// The name of a RoutePolicy, so that the same policy is the same object; its source in parts; the sources that a domain allows. Pure.
import { hash } from "node:crypto";
import type { Domain } from "../domain/domain.ts";
import type { RoutePolicy } from "./route-policy.ts";

export const ANY_SOURCE = "cf:any";

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
