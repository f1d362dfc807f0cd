// Holds a Domain's name on the platform.
import { Claim } from "../../crds/claim/claim.ts";
import { claimObjectName, domainName } from "../../crds/claim/rules.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { defineController, watch } from "../../kube/controller/controller.ts";
import { byGUID, CLAIM_INDEX, GUID_INDEX, holdClaim, settleGUID } from "../shared/identity.ts";
import { DOMAIN_INDEXES } from "../shared/tenancy.ts";

export const domainController = defineController({
  name: "domain",
  for: Domain,
  indexes: { ...DOMAIN_INDEXES, [GUID_INDEX]: byGUID, [CLAIM_INDEX]: (domain: Domain) => [claimObjectName(domainName(domain))] },
  watches: [watch(Claim, (claim) => ({ [CLAIM_INDEX]: claim.metadata.name }))],
  async reconcile(domain, context) {
    const { labels } = settleGUID(Domain, domain, context);
    await holdClaim(Domain.kind, domain, domainName(domain), context);
    return { labels };
  },
});
