// The org, space and domain of the cases, and the roles of their people there.
import type { Api, Named, Page } from "../../support/api.ts";
import type { Who } from "./who.ts";

export const ORG = "acme";
export const SPACE = "dev";
export const DOMAIN = "apps.localhost";

/** CF's roles of each person; the space's unless they are the org's. */
const ROLES: Record<Exclude<Who, "admin">, string | undefined> = {
  developer: "space_developer",
  supporter: "space_supporter",
  auditor: "space_auditor",
  manager: "space_manager",
  "org-manager": "organization_manager",
  "org-auditor": "organization_auditor",
  "billing-manager": "organization_billing_manager",
  nobody: undefined,
};

export interface Places {
  orgGUID: string;
  spaceGUID: string;
  domainGUID: string;
}

/** @throws Error with what the API said */
export async function makePlaces(admin: Api): Promise<Places> {
  const org = await admin.call("POST", "/v3/organizations", { name: ORG });
  const relationships = { organization: { data: { guid: org.guid } } };
  const space = await admin.call("POST", "/v3/spaces", { name: SPACE, relationships });
  const domains = await admin.call<Page<Named>>("GET", `/v3/domains?names=${DOMAIN}`);
  return { orgGUID: org.guid, spaceGUID: space.guid, domainGUID: domains.resources[0]?.guid ?? "" };
}

/** Gives somebody the role by which the cases call them. */
export async function giveRole(
  admin: Api,
  user: string,
  { who, orgGUID, spaceGUID }: Places & { who: Exclude<Who, "admin"> },
): Promise<void> {
  const type = ROLES[who];
  if (!type) return;
  const ofUser = { user: { data: { guid: user } } };
  const inOrg = { ...ofUser, organization: { data: { guid: orgGUID } } };
  await admin.call("POST", "/v3/roles", { type: "organization_user", relationships: inOrg });
  const isOrg = type.startsWith("organization");
  const relationships = isOrg ? inOrg : { ...ofUser, space: { data: { guid: spaceGUID } } };
  await admin.call("POST", "/v3/roles", { type, relationships });
}
