// Holds a Domain's name on the platform.
import { Claim } from "../../crds/claim/claim.ts";
import { claimObjectName, domainName } from "../../crds/claim/rules.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { defineController, watch } from "../../kube/controller/controller.ts";
import { indexByGUID, GUID_INDEX, resolveGUID } from "../shared/guid.ts";
import { CLAIMED_NAME_INDEX, ensureClaim } from "../shared/claims.ts";
import { DOMAIN_INDEXES } from "../shared/domains.ts";

export const domainController = defineController({
  name: "domain",
  for: Domain,
  indexes: {
    ...DOMAIN_INDEXES,
    [GUID_INDEX]: indexByGUID,
    [CLAIMED_NAME_INDEX]: (domain: Domain) => [claimObjectName(domainName(domain))],
  },
  watches: [watch(Claim, (claim) => ({ [CLAIMED_NAME_INDEX]: claim.metadata.name }))],
  async reconcile(domain, context) {
    const { labels } = resolveGUID(Domain, domain, context);
    await ensureClaim(Domain.kind, domain, domainName(domain), context);
    return { labels };
  },
});
