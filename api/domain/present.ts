// How a Domain goes out.
import { Domain } from "../../crds/domain/domain.ts";
import { Org } from "../../crds/org/org.ts";
import { ownerOf } from "../cf/domains.ts";
import { identityOf, link, metadataMember, toMany, toOne } from "../http/presentation.ts";
import type { Session } from "../access/session.ts";

export function presentDomain(as: Session, domain: Domain, base: string): object {
  const { view } = as;
  const at = identityOf(view, Domain, domain);
  const owner = ownerOf(view, domain);
  const ownerGUID = owner && view.guid(Org, owner);
  const self = `${base}/v3/domains/${at.guid}`;
  return {
    ...at,
    name: domain.spec.name,
    internal: domain.spec.internal,
    router_group: null,
    supported_protocols: ["http"],
    relationships: { organization: toOne(ownerGUID), shared_organizations: toMany(sharedWith(as, domain)) },
    ...metadataMember(domain),
    links: {
      self: link(self),
      route_reservations: link(`${self}/route_reservations`),
      ...(ownerGUID && { organization: link(`${base}/v3/organizations/${ownerGUID}`), shared_organizations: link(`${self}/relationships/shared_organizations`) }),
    },
  };
}

/** Only the orgs that the reader sees. */
function sharedWith(as: Session, domain: Domain): string[] {
  const orgs = domain.spec.sharedOrgs.flatMap((name) => as.view.store(Org).find({ name }) ?? []);
  return orgs.filter((org) => as.sees(Org, org)).map((org) => as.view.guid(Org, org));
}
