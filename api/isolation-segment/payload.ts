// Bodies and queries of isolation segments.
import { z } from "zod";
import { metadataSchema } from "../cf/metadata/metadata.ts";
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
export const toOneOrNoneBody = z.strictObject({
  data: z.strictObject({ guid: z.string().min(1).max(255) }).nullable(),
});
