// Which names need a claim, and which object holds it. Pure: time is an argument.
import { hash } from "node:crypto";
import type { KubeObject } from "../../kube/api/object.ts";
import type { App } from "../app/app.ts";
import type { Domain } from "../domain/domain.ts";
import { isTCPDomain } from "../domain/protocols.ts";
import { SYSTEM_NAMESPACE, GROUP } from "../groups.ts";
import { displayNameOf, foldName } from "../object-names.ts";
import type { IsolationSegment } from "../isolation-segment/isolation-segment.ts";
import type { OrgQuota } from "../org-quota/org-quota.ts";
import type { SecurityGroup } from "../security-group/security-group.ts";
import type { SpaceQuota } from "../space-quota/space-quota.ts";
import type { Org } from "../org/org.ts";
import type { Route } from "../route/route.ts";
import { foldHost, foldPath } from "../route/route-url.ts";
import type { ServiceBroker } from "../service-broker/service-broker.ts";
import type { ServiceInstance } from "../service-instance/service-instance.ts";
import type { Space } from "../space/space.ts";
import type { Claim } from "./claim.ts";

/** Milliseconds for which a new claim is valid before its object exists. */
export const CLAIM_GRACE_MS = 30_000;

/** A name and the scope in which it must be unique. */
export interface ClaimedName {
  scope: string;
  claimed: string;
}

export interface Claimant {
  kind: string;
  namespace?: string;
  name: string;
}

/** Org names are unique on the platform. */
export function orgName(org: Pick<Org, "metadata" | "spec">): ClaimedName {
  return { scope: "org", claimed: foldName(displayNameOf(org)) };
}

/** Space names are unique in their org. The Space is in the org's namespace. */
export function spaceName(space: Pick<Space, "metadata" | "spec">): ClaimedName {
  return { scope: `space/${space.metadata.namespace ?? ""}`, claimed: foldName(displayNameOf(space)) };
}

/** App names are unique in their space's namespace. */
export function appName(app: Pick<App, "metadata" | "spec">): ClaimedName {
  return { scope: `app/${app.metadata.namespace ?? ""}`, claimed: foldName(displayNameOf(app)) };
}

/** Domain names are unique on the platform, across shared and private domains. */
export function domainName(domain: Pick<Domain, "spec">): ClaimedName {
  return { scope: "domain", claimed: foldName(domain.spec.name) };
}

/** Names of org quotas are unique on the platform. */
export function orgQuotaName(quota: Pick<OrgQuota, "spec">): ClaimedName {
  return { scope: "org-quota", claimed: foldName(quota.spec.name) };
}

/** Names of space quotas are unique in their org. The SpaceQuota is in the org's namespace. */
export function spaceQuotaName(quota: Pick<SpaceQuota, "metadata" | "spec">): ClaimedName {
  return { scope: `space-quota/${quota.metadata.namespace ?? ""}`, claimed: foldName(quota.spec.name) };
}

/** Names of security groups are unique on the platform; here, too, as in CF, their case counts. */
export function securityGroupName(group: Pick<SecurityGroup, "spec">): ClaimedName {
  return { scope: "security-group", claimed: group.spec.name.normalize("NFC") };
}

/** Names of service instances are unique in their space; as in CF, their case counts. */
export function serviceInstanceName(instance: Pick<ServiceInstance, "metadata" | "spec">): ClaimedName {
  return {
    scope: `service-instance/${instance.metadata.namespace ?? ""}`,
    claimed: displayNameOf(instance).normalize("NFC"),
  };
}

/** Names of service brokers are unique on the platform, those of spaces included; as in CF, their case counts. */
export function serviceBrokerName(broker: Pick<ServiceBroker, "spec">): ClaimedName {
  return { scope: "service-broker", claimed: broker.spec.name.normalize("NFC") };
}

/** Names of isolation segments are unique on the platform. */
export function isolationSegmentName(segment: Pick<IsolationSegment, "metadata" | "spec">): ClaimedName {
  return { scope: "isolation-segment", claimed: foldName(displayNameOf(segment)) };
}

/** Routes are unique on the platform by domain, host, port and path. `domain` is the DNS name, since the object name differs between orgs. */
export function routeName(route: Pick<Route, "spec">, domain: string): ClaimedName {
  const { host, path, port } = route.spec;
  return { scope: `route/${foldName(domain)}`, claimed: `${foldHost(host)}:${port}${foldPath(path)}` };
}

/** Scope of the ports of a router class, before its name. */
export const PORT_SCOPE = "route-port/";

/** As `routeName`; a route of a TCP domain claims a port of the domain's router, whatever other domains use that router. */
export function routeNameIn(route: Pick<Route, "spec">, domain: Pick<Domain, "spec">): ClaimedName {
  const name = routeName(route, domain.spec.name);
  return isTCPDomain(domain) ? { ...name, scope: `${PORT_SCOPE}${domain.spec.router ?? ""}` } : name;
}

/** The object name of a claim: a digest of scope and name. */
export function claimObjectName(name: ClaimedName): string {
  const kind = name.scope.split("/")[0] ?? "";
  return `${kind}-${hash("sha256", `${name.scope}\u0000${name.claimed}`, "hex").slice(0, 40)}`;
}

/** The claim to create. */
export function newClaim(name: ClaimedName, claimant: Claimant, now: Date): Claim {
  return {
    apiVersion: `${GROUP}/v1alpha1`,
    kind: "Claim",
    metadata: { name: claimObjectName(name), namespace: SYSTEM_NAMESPACE },
    spec: { scope: name.scope, claimed: name.claimed, claimant, since: now.toISOString() },
  };
}

/** Does the claim name this object? */
export function isClaimant(claim: Pick<Claim, "spec">, kind: string, object: Pick<KubeObject, "metadata">): boolean {
  const { claimant } = claim.spec;
  return (
    claimant.kind === kind &&
    claimant.name === object.metadata.name &&
    (claimant.namespace ?? "") === (object.metadata.namespace ?? "")
  );
}

/** Whether an object holds the claim on its name, another object does, or there is no claim yet. */
export type ClaimState = "held" | "taken" | "unclaimed";

export function toClaimState(
  claim: Pick<Claim, "spec"> | undefined,
  kind: string,
  object: Pick<KubeObject, "metadata">,
): ClaimState {
  if (!claim) return "unclaimed";
  return isClaimant(claim, kind, object) ? "held" : "taken";
}

/**
 * May the claim be taken over? Only after its grace period, when its claimant is gone or has another name.
 * `currentName` is the claimant's name, read live; undefined when the claimant does not exist.
 */
export function isClaimStale(claim: Pick<Claim, "spec">, currentName: ClaimedName | undefined, now: Date): boolean {
  if (now.getTime() - Date.parse(claim.spec.since) < CLAIM_GRACE_MS) return false;
  return (
    currentName === undefined || currentName.scope !== claim.spec.scope || currentName.claimed !== claim.spec.claimed
  );
}
