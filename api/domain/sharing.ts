// Shares private domains with other orgs: `/v3/domains/:guid/relationships/shared_organizations`.
import { z } from "zod";
import { Domain, MAX_SHARED_ORGS } from "../../crds/domain/domain.ts";
import { isSharedDomain } from "../../crds/domain/resolve-domain.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import { Org } from "../../crds/org/org.ts";
import { Route } from "../../crds/route/route.ts";
import { endpoint, noContent, ok, type Endpoint } from "../routing/endpoint.ts";
import { unprocessable } from "../http/errors.ts";
import { domainOf } from "../cache/domains.ts";
import { resolveOrg } from "../cf/org/org-and-space-namespaces.ts";
import { toManyRelationship } from "../http/presentation.ts";
import type { Session } from "../access/session.ts";
import { listSharedOrgGUIDs } from "./present.ts";

const path = "/v3/domains/:guid/relationships/shared_organizations";
const write = { verb: "patch", on: Domain } as const;

function privateDomain(session: Session, guid: string): Domain {
  const domain = session.get(Domain, guid);
  if (isSharedDomain(domain))
    throw unprocessable("Domains cannot be shared with other organizations unless they are scoped to an organization.");
  return domain;
}

/** Unsharing would take an org's routes in the domain away. @throws CFError 422 when it has any */
function checkUnused(session: Session, domain: Domain, org: Org): void {
  const isTheirs = (route: Route): boolean =>
    domainOf(session.cache, route) === domain &&
    session.cache.spaceOf(route.metadata.namespace)?.metadata.namespace === org.status?.namespace;
  if (session.cache.store(Route).byIndex("domain", domain.metadata.name).some(isTheirs))
    throw unprocessable("This domain has associated routes in this organization. Delete the routes before unsharing.");
}

const STRUCTURE = 'must have the structure "data": [{"guid": shared_org_guid_1}, {"guid": shared_org_guid_2}]';
const sharedOrgsBody = z.strictObject({
  data: z
    .array(z.strictObject({ guid: z.string(STRUCTURE).min(1, STRUCTURE).max(255) }, STRUCTURE), STRUCTURE)
    .max(MAX_SHARED_ORGS),
});

export const sharingEndpoints: readonly Endpoint[] = [
  endpoint({
    method: "POST",
    path,
    permission: write,
    body: sharedOrgsBody,
    summary: "Share a private domain",
    handler: async ({ session, params, body }) => {
      const domain = privateDomain(session, params.guid);
      const orgs = body.data.map(({ guid }) => resolveOrg(session, guid).org);
      if (orgs.some(({ status }) => status?.namespace === domain.metadata.namespace))
        throw unprocessable("Domain cannot be shared with owning organization.");
      const names = orgs.map(({ metadata }) => metadata.name);
      const after = await session.patchWithRetry(Domain, domain, ({ spec }) =>
        names.every((name) => spec.sharedOrgs.includes(name))
          ? undefined
          : { spec: { sharedOrgs: [...new Set([...spec.sharedOrgs, ...names])] } },
      );
      return ok(toManyRelationship(listSharedOrgGUIDs(session, after)));
    },
  }),
  endpoint({
    method: "DELETE",
    path: `${path}/:org`,
    permission: write,
    summary: "Unshare a private domain",
    handler: async ({ session, params }) => {
      const domain = privateDomain(session, params.guid);
      const org = session.find(Org, params.org);
      if (!org)
        throw unprocessable(`Organization with guid '${params.org}' does not exist or you do not have access to it.`);
      const { name } = org.metadata;
      if (!domain.spec.sharedOrgs.includes(name))
        throw unprocessable(
          `Unable to unshare domain from organization with name '${displayNameOf(org)}'. Ensure the domain is shared to this organization.`,
        );
      checkUnused(session, domain, org);
      await session.patchWithRetry(Domain, domain, ({ spec }) =>
        spec.sharedOrgs.includes(name)
          ? { spec: { sharedOrgs: spec.sharedOrgs.filter((one) => one !== name) } }
          : undefined,
      );
      return noContent();
    },
  }),
];
