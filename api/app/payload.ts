// Request bodies and queries of apps.
import { z } from "zod";
import type { App } from "../../crds/app/app.ts";
import { CFError, unprocessable } from "../http/errors.ts";
import { anyVariablesSchema, variablesSchema } from "../cf/app/app-env.ts";
import {
  type ChangedLifecycle,
  changedLifecycleSchema,
  newAppLifecycleSchema,
  toLifecycle,
  typeChangeRefusal,
  type LifecycleInput,
} from "../cf/app/lifecycle.ts";
import { toMetadataPatch, metadataSchema } from "../http/metadata.ts";
import { appNameSchema, toOneSchema } from "../http/shared-schemas.ts";
import { csv, include, listQuery, oneOf } from "../http/query.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";

export const createAppBody = z.strictObject({
  name: appNameSchema,
  relationships: z.strictObject({ space: toOneSchema }),
  environment_variables: anyVariablesSchema.nullish(),
  lifecycle: newAppLifecycleSchema.optional(),
  metadata: metadataSchema.optional(),
});
export const updateAppBody = z.strictObject({
  name: appNameSchema.optional(),
  lifecycle: changedLifecycleSchema.optional(),
  metadata: metadataSchema.optional(),
});
export const setVariablesBody = z.strictObject({ var: variablesSchema });
export const featureBody = z.strictObject({ enabled: z.boolean() });
export const currentDropletBody = z.strictObject({ data: z.strictObject({ guid: z.string().nullish() }).nullable() });

export const appListQuery = listQuery(
  {
    names: csv.optional(),
    space_guids: csv.optional(),
    organization_guids: csv.optional(),
    stacks: csv.optional(),
    lifecycle_type: oneOf(["buildpack", "cnb", "docker"], (text) => `Invalid lifecycle_type: '${text}'`).optional(),
    include: include("space", "org", "space.organization").optional(),
  },
  { orders: ["name", "state"] },
);
export const appGetQuery = z.strictObject({ include: include("space", "org", "space.organization").optional() });

/** CF's error when the app name is taken. */
export function appNameTaken(name: string): () => CFError {
  return () => new CFError("UniquenessError", `App with the name '${name}' already exists.`);
}

/** The merge patch for an update. @throws CFError 422 when it would change the lifecycle's type */
export function toAppPatch(
  cache: ClusterCache,
  app: App,
  body: z.output<typeof updateAppBody>,
): { metadata: object; spec: Record<string, unknown> } {
  const { type } = app.spec.lifecycle;
  const asked = body.lifecycle && withType(body.lifecycle, type);
  if (asked && asked.type !== type) throw unprocessable(typeChangeRefusal(type, asked.type));
  const { type: _type, ...lifecycle } = toLifecycle(cache, asked);
  return {
    metadata: toMetadataPatch(body.metadata, app),
    spec: { ...(body.name !== undefined && { name: body.name }), ...(body.lifecycle && { lifecycle }) },
  };
}

/** An image has no data, so that whoever names none but sends some means a buildpack app. */
function withType({ type, data }: ChangedLifecycle, own: App["spec"]["lifecycle"]["type"]): LifecycleInput {
  if (type === "docker") return { type };
  return { type: type ?? (own === "cnb" ? "cnb" : "buildpack"), data };
}
