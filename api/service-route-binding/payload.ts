// Bodies and queries of service route bindings.
import { z } from "zod";
import { metadataSchema } from "../http/metadata.ts";
import { csv, include, listQuery } from "../http/query.ts";
import { toOneSchema } from "../http/shared-schemas.ts";

export const createRouteBindingBody = z.strictObject({
  relationships: z.strictObject({ service_instance: toOneSchema, route: toOneSchema }),
  parameters: z.record(z.string(), z.unknown(), "must be an object").nullish(),
  metadata: metadataSchema.optional(),
});

const included = include("route", "service_instance").optional();
export const routeBindingQuery = z.strictObject({ include: included });
export const routeBindingListQuery = listQuery({
  service_instance_guids: csv.optional(),
  service_instance_names: csv.optional(),
  route_guids: csv.optional(),
  include: included,
});
