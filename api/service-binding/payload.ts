// Bodies and queries of service credential bindings.
import { z } from "zod";
import { metadataSchema } from "../http/metadata.ts";
import { csv, include, listQuery } from "../http/query.ts";
import { blankAs, nameSchema, toOneSchema } from "../http/shared-schemas.ts";

export const createBindingBody = z.strictObject({
  type: z.enum(["app", "key"], "must be 'app' or 'key'"),
  name: blankAs(nameSchema, undefined),
  relationships: z.strictObject({ service_instance: toOneSchema, app: toOneSchema.optional() }),
  parameters: z.record(z.string(), z.unknown(), "must be an object").nullish(),
  strategy: z.enum(["single", "multiple"], "must be 'single' or 'multiple'").optional(),
  metadata: metadataSchema.optional(),
});

const included = include("app", "service_instance").optional();
export const bindingQuery = z.strictObject({ include: included });
export const bindingListQuery = listQuery(
  {
    names: csv.optional(),
    service_instance_guids: csv.optional(),
    service_instance_names: csv.optional(),
    service_plan_guids: csv.optional(),
    service_plan_names: csv.optional(),
    service_offering_guids: csv.optional(),
    service_offering_names: csv.optional(),
    app_guids: csv.optional(),
    app_names: csv.optional(),
    type: z.string().optional(),
    include: included,
  },
  { orders: ["name"] },
);
