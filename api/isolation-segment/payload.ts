// Bodies and queries of isolation segments.
import { z } from "zod";
import { metadataSchema } from "../http/metadata.ts";
import { nameSchema } from "../http/shared-schemas.ts";
import { csv, listQuery } from "../http/query.ts";

export const createSegmentBody = z.strictObject({ name: nameSchema, metadata: metadataSchema.optional() });
export const updateSegmentBody = z.strictObject({
  name: nameSchema.nullish(),
  metadata: metadataSchema.optional(),
});
export const segmentListQuery = listQuery(
  { names: csv.optional(), organization_guids: csv.optional() },
  { orders: ["name"] },
);
/** As in CF, no data or no GUID takes the segment away. */
export const toOneOrNoneBody = z.strictObject({
  data: z.strictObject({ guid: z.string().max(255).nullable() }).nullish(),
});
