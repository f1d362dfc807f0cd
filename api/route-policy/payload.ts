// Bodies and queries of route policies.
import { z } from "zod";
import { SOURCE } from "../../crds/route-policy/route-policy.ts";
import { metadataSchema } from "../http/metadata.ts";
import { csv, include, listQuery } from "../http/query.ts";
import { requiredText, toOneSchema } from "../http/shared-schemas.ts";

export const createRoutePolicyBody = z.strictObject({
  source: requiredText("Source").regex(
    SOURCE,
    "must be in format 'cf:app:<uuid>', 'cf:space:<uuid>', 'cf:org:<uuid>', or 'cf:any'",
  ),
  relationships: z.strictObject({ route: toOneSchema }),
  metadata: metadataSchema.optional(),
});

const included = include("source", "route").optional();
export const routePolicyQuery = z.strictObject({ include: included });
export const routePolicyListQuery = listQuery({
  route_guids: csv.optional(),
  space_guids: csv.optional(),
  sources: csv.optional(),
  source_guids: csv.optional(),
  include: included,
});
