// Bodies and queries of organization quotas.
import { z } from "zod";
import { quotaLimitsBody, quotaName } from "../cf/quota/quota-body.ts";
import { optionalRelationships, toManySchema } from "../http/shared-schemas.ts";
import { csv, listQuery } from "../http/query.ts";

export const createQuotaBody = z.strictObject({
  name: quotaName,
  ...quotaLimitsBody,
  relationships: optionalRelationships({ organizations: toManySchema.nullish() }),
});
export const updateQuotaBody = z.strictObject({ name: quotaName.optional(), ...quotaLimitsBody });
export const quotaListQuery = listQuery(
  { names: csv.optional(), organization_guids: csv.optional() },
  { labels: false },
);
