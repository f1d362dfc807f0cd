// Request bodies and queries of packages.
import { z } from "zod";
import type { App } from "../../crds/app/app.ts";
import type { Package } from "../../crds/package/package.ts";
import type { Draft } from "../../kube/client/client.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import { newChildMetadata } from "../cf/app/owner-app.ts";
import { type MetadataInput, metadataSchema } from "../http/metadata.ts";
import { PACKAGE_STATES } from "../cf/package/package-state.ts";
import { isBlank } from "../http/blank.ts";
import { toOneSchema } from "../http/shared-schemas.ts";
import { csv, csvOf, listQuery } from "../http/query.ts";

const relationships = z.strictObject({ app: toOneSchema });
const dockerData = z.strictObject({
  image: z
    .string({ error: ({ input }) => (isBlank(input) ? "must be a string, Data Image required" : undefined) })
    .min(1, "required")
    .max(1024),
  username: z.string().max(255).nullish(),
  password: z.string().max(5000).nullish(),
});

export const createPackageBody = z.discriminatedUnion(
  "type",
  [
    z.strictObject({
      type: z.literal("bits"),
      relationships,
      data: z.strictObject({}, "Data must be empty if provided for bits packages").nullish(),
      metadata: metadataSchema.optional(),
    }),
    z.strictObject({ type: z.literal("docker"), relationships, data: dockerData, metadata: metadataSchema.optional() }),
  ],
  { error: "must be one of 'bits, docker'" },
);
export type CreatePackage = z.output<typeof createPackageBody>;

const ownFilters = { states: csvOf(...PACKAGE_STATES).optional(), types: csvOf("bits", "docker").optional() };
export const packageListQuery = listQuery({
  ...ownFilters,
  app_guids: csv.optional(),
  space_guids: csv.optional(),
  organization_guids: csv.optional(),
});
export const appPackageListQuery = listQuery(ownFilters);

/** As in CF, a copy's body sets only the app. */
export const copyPackageBody = z.looseObject({ relationships });
export const createPackageQuery = z.object({ source_guid: z.string().min(1).max(255).optional() });

/** The Package to create. Registry credentials are in a Secret that the spec names. */
export function toPackage(
  cache: ClusterCache,
  app: App,
  spec: Omit<Package["spec"], "appRef">,
  metadata?: MetadataInput,
): Draft {
  return {
    metadata: newChildMetadata(cache, app, metadata),
    spec: { ...spec, appRef: { name: app.metadata.name } },
  };
}

/** The spec for a body, without the app. */
export function toPackageSpec(body: CreatePackage, pullSecret: string | undefined): Omit<Package["spec"], "appRef"> {
  if (body.type === "bits") return { type: "bits" };
  return {
    type: "docker",
    image: body.data.image,
    ...(body.data.username && { username: body.data.username }),
    ...(pullSecret && { imagePullSecretRef: { name: pullSecret } }),
  };
}
