// Bodies and queries of space quotas.
import { z } from "zod";
import { quotaLimitsBody, quotaName } from "../cf/quota/quota-body.ts";
import { toManySchema, toOneSchema } from "../http/shared-schemas.ts";
import { csv, listQuery } from "../http/query.ts";

const { domains: _domains, ...limits } = quotaLimitsBody;

export const createSpaceQuotaBody = z.strictObject({
  name: quotaName,
  ...limits,
  relationships: z.strictObject({ organization: toOneSchema, spaces: toManySchema.nullish() }),
});
/** As in CF, an update may name domains, which have no effect. */
export const updateSpaceQuotaBody = z.strictObject({ name: quotaName.optional(), ...quotaLimitsBody });
export const spaceQuotaListQuery = listQuery(
  { names: csv.optional(), organization_guids: csv.optional(), space_guids: csv.optional() },
  { labels: false },
);
