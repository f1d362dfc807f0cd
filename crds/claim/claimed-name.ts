// The kinds that claim a name, and the name that an object of each claims. Pure.
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { App } from "../app/app.ts";
import { Domain } from "../domain/domain.ts";
import { Org } from "../org/org.ts";
import { IsolationSegment } from "../isolation-segment/isolation-segment.ts";
import { OrgQuota } from "../org-quota/org-quota.ts";
import { ServiceBroker } from "../service-broker/service-broker.ts";
import { ServiceInstance } from "../service-instance/service-instance.ts";
import { SecurityGroup } from "../security-group/security-group.ts";
import { SpaceQuota } from "../space-quota/space-quota.ts";
import { Route } from "../route/route.ts";
import { Space } from "../space/space.ts";
import {
  appName,
  type ClaimedName,
  domainName,
  isolationSegmentName,
  orgName,
  orgQuotaName,
  routeNameIn,
  securityGroupName,
  serviceBrokerName,
  serviceInstanceName,
  spaceName,
  spaceQuotaName,
} from "./rules.ts";

/** The domain of a route, as far as the caller knows it. */
export type FindDomain = (route: Route) => Domain | undefined;

interface ClaimingKind {
  ref: ResourceRef;
  nameOf: (object: KubeObject, findDomain: FindDomain) => ClaimedName | undefined;
}

const CLAIMING_KINDS: ReadonlyMap<string, ClaimingKind> = new Map(
  [
    { ref: Org, nameOf: (org: KubeObject) => orgName(org as Org) },
    { ref: Space, nameOf: (space: KubeObject) => spaceName(space as Space) },
    { ref: App, nameOf: (app: KubeObject) => appName(app as App) },
    { ref: Domain, nameOf: (domain: KubeObject) => domainName(domain as Domain) },
    { ref: Route, nameOf: nameOfRoute },
    { ref: OrgQuota, nameOf: (quota: KubeObject) => orgQuotaName(quota as OrgQuota) },
    { ref: SpaceQuota, nameOf: (quota: KubeObject) => spaceQuotaName(quota as SpaceQuota) },
    { ref: SecurityGroup, nameOf: (group: KubeObject) => securityGroupName(group as SecurityGroup) },
    { ref: ServiceBroker, nameOf: (broker: KubeObject) => serviceBrokerName(broker as ServiceBroker) },
    { ref: ServiceInstance, nameOf: (instance: KubeObject) => serviceInstanceName(instance as ServiceInstance) },
    { ref: IsolationSegment, nameOf: (segment: KubeObject) => isolationSegmentName(segment as IsolationSegment) },
  ].map((row) => [row.ref.kind, row]),
);

/** A draft of a route may omit fields that the API server defaults. */
function nameOfRoute(object: KubeObject, findDomain: FindDomain): ClaimedName | undefined {
  const route = object as Route;
  const domain = findDomain(route);
  if (!domain) return undefined;
  const { host = "", path = "", port = 0 } = route.spec;
  return routeNameIn({ ...route, spec: { ...route.spec, host, path, port } }, domain);
}

/** The kind of that name, if its objects claim names. */
export function findClaimingKind(kind: string): ResourceRef | undefined {
  return CLAIMING_KINDS.get(kind)?.ref;
}

/** The name that an object, or a draft of one, claims; undefined for kinds without claims and for a route whose domain is unknown. */
export function claimedNameOf(kind: string, object: KubeObject, findDomain: FindDomain): ClaimedName | undefined {
  return CLAIMING_KINDS.get(kind)?.nameOf(object, findDomain);
}
