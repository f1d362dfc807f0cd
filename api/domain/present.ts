// Presents a Domain as CF's JSON.
import { routerGroupGUID } from "../../crds/backend-class/router-group.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { isTCPDomain } from "../../crds/domain/protocols.ts";
import { Org } from "../../crds/org/org.ts";
import { owningOrg } from "../cache/domains.ts";
import { presentIdentity, link, presentMetadata, toManyRelationship, toOneRelationship } from "../http/presentation.ts";
import type { Session } from "../access/session.ts";

export function presentDomain(session: Session, domain: Domain, base: string): object {
  const { cache } = session;
  const at = presentIdentity(cache, Domain, domain);
  const owner = owningOrg(cache, domain);
  const ownerGUID = owner && cache.guid(Org, owner);
  const self = `${base}/v3/domains/${at.guid}`;
  return {
    ...at,
    name: domain.spec.name,
    internal: domain.spec.internal,
    router_group: isTCPDomain(domain) ? { guid: routerGroupGUID(domain.spec.router ?? "") } : null,
    ...(domain.spec.routePolicies && {
      enforce_route_policies: true,
      route_policies_scope: domain.spec.routePolicies.scope,
    }),
    supported_protocols: domain.spec.protocols ?? ["http"],
    relationships: {
      organization: toOneRelationship(ownerGUID),
      shared_organizations: toManyRelationship(listSharedOrgGUIDs(session, domain)),
    },
    ...presentMetadata(domain),
    links: {
      self: link(self),
      route_reservations: link(`${self}/route_reservations`),
      ...(ownerGUID && {
        organization: link(`${base}/v3/organizations/${ownerGUID}`),
        shared_organizations: link(`${self}/relationships/shared_organizations`),
      }),
    },
  };
}

/** The orgs that a private domain is shared with and that the caller sees. */
export function listSharedOrgGUIDs(session: Session, domain: Domain): string[] {
  const orgs = domain.spec.sharedOrgs.flatMap((name) => session.cache.store(Org).find({ name }) ?? []);
  return orgs.filter((org) => session.canSee(Org, org)).map((org) => session.cache.guid(Org, org));
}
