// Request bodies and queries of spaces.
import { z } from "zod";
import { newGUID } from "../../crds/guid.ts";
import { LABELS } from "../../crds/labels.ts";
import { objectNameFor } from "../../crds/object-names.ts";
import type { Space } from "../../crds/space/space.ts";
import type { Draft } from "../../kube/client/client.ts";
import { metadataForCreate, toMetadataPatch, metadataSchema } from "../http/metadata.ts";
import { nameSchema, toOneSchema } from "../http/shared-schemas.ts";
import { booleanText, csv, include, listQuery } from "../http/query.ts";

export const createSpaceBody = z.strictObject({
  name: nameSchema,
  suspended: z.boolean().nullish(),
  relationships: z.strictObject({ organization: toOneSchema }),
  metadata: metadataSchema.optional(),
});
export const updateSpaceBody = z.strictObject({
  name: nameSchema.optional(),
  suspended: z.boolean().nullish(),
  metadata: metadataSchema.optional(),
});
export const spaceIncludes = include("org", "organization").optional();
export const spaceListQuery = listQuery(
  { names: csv.optional(), organization_guids: csv.optional(), include: spaceIncludes },
  { orders: ["name"] },
);
export const spaceGetQuery = z.strictObject({ include: spaceIncludes });
export const featureBody = z.strictObject({ enabled: z.boolean() });
const onlyUnmapped = (what: string): string =>
  `Mass delete not supported for ${what}. Use 'unmapped=true' parameter to delete all unmapped routes.`;
export const unmappedQuery = z
  .strictObject({ unmapped: booleanText.optional() })
  .refine(({ unmapped }) => unmapped !== undefined, onlyUnmapped("routes"))
  .refine(({ unmapped }) => unmapped !== false, onlyUnmapped("mapped routes"));

/** The Space to create in an org's namespace. */
export function toSpace(
  body: z.output<typeof createSpaceBody>,
  namespace: string,
  isTaken: (name: string) => boolean,
): Draft {
  const { labels, annotations } = metadataForCreate(body.metadata);
  return {
    metadata: {
      name: objectNameFor(body.name, "space", isTaken),
      namespace,
      labels: { ...labels, [LABELS.guid]: newGUID() },
      annotations,
    },
    spec: { name: body.name, suspended: body.suspended ?? false },
  };
}

/** The merge patch for an update. */
export function toSpacePatch(
  body: z.output<typeof updateSpaceBody>,
  space: Space,
): { metadata: object; spec: Record<string, unknown> } {
  return {
    metadata: toMetadataPatch(body.metadata, space),
    spec: {
      ...(body.name !== undefined && { name: body.name }),
      ...(typeof body.suspended === "boolean" && { suspended: body.suspended }),
    },
  };
}
