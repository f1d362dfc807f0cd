// Request bodies and queries of organizations.
import { z } from "zod";
import { newGUID } from "../../crds/guid.ts";
import { ANNOTATIONS, LABELS } from "../../crds/labels.ts";
import { objectNameFor } from "../../crds/object-names.ts";
import type { Draft } from "../../kube/client/client.ts";
import { metadataForCreate, toMetadataPatch, metadataSchema } from "../http/metadata.ts";
import { nameSchema } from "../http/shared-schemas.ts";
import { csv, listQuery } from "../http/query.ts";
import type { Org } from "../../crds/org/org.ts";

export const createOrgBody = z.strictObject({
  name: nameSchema,
  suspended: z.boolean().nullish(),
  metadata: metadataSchema.optional(),
});
export const updateOrgBody = createOrgBody.partial();
export const orgListQuery = listQuery({ names: csv.optional() }, { orders: ["name"] });

/** The Org to create. `creator` becomes its manager; omitted for admins, who need no role. */
export function toOrg(
  body: z.output<typeof createOrgBody>,
  isTaken: (name: string) => boolean,
  creator?: string,
): Draft {
  const { labels, annotations } = metadataForCreate(body.metadata);
  return {
    metadata: {
      name: objectNameFor(body.name, "org", isTaken),
      labels: { ...labels, [LABELS.guid]: newGUID() },
      annotations: { ...annotations, ...(creator !== undefined && { [ANNOTATIONS.createdBy]: creator }) },
    },
    spec: { name: body.name, suspended: body.suspended ?? false },
  };
}

/** The merge patch for an update. */
export function toOrgPatch(
  body: z.output<typeof updateOrgBody>,
  org: Org,
): { metadata: object; spec: Record<string, unknown> } {
  const spec = {
    ...(body.name !== undefined && { name: body.name }),
    ...(typeof body.suspended === "boolean" && { suspended: body.suspended }),
  };
  return { metadata: toMetadataPatch(body.metadata, org), spec };
}
