// Bodies and queries of service instances.
import { z } from "zod";
import { isRouteServiceURL } from "../../crds/service-instance/route-service-url.ts";
import { metadataSchema } from "../http/metadata.ts";
import { fields } from "../http/fields.ts";
import { csv, listQuery } from "../http/query.ts";
import { shownAs } from "../http/shown-as.ts";
import { blankAs, nameSchema, optionalRelationships, relatedGUID, toOneSchema } from "../http/shared-schemas.ts";

const MAX_TAGS = "combined length of tags for service instance must be 2048 characters or less.";

const tags = blankAs(
  z
    .array(z.string())
    .max(100)
    .refine((list) => list.join("").length <= 2048, MAX_TAGS),
  [],
);
const url = z.string().max(2048);
const syslogDrainURL = url.refine((text) => text === "" || URL.canParse(text), "must be a valid URI");
const routeServiceURL = url.refine((text) => text === "" || isRouteServiceURL(text), "must be https");

/** Fields of user-provided instances only. */
const userProvided = {
  credentials: z.record(z.string(), z.unknown(), "must be an object").nullish(),
  syslog_drain_url: syslogDrainURL.nullish(),
  route_service_url: routeServiceURL.nullish(),
};

const parameters = z.record(z.string(), z.unknown(), "must be an object").nullish();

const givenMaintenanceInfo = z.strictObject({ version: z.string().min(1).max(255).nullish() }).nullish();
/** As in CF, maintenance info without a version asks for nothing. */
const maintenanceInfo = shownAs(
  givenMaintenanceInfo.transform((given) => (given?.version ? { version: given.version } : undefined)),
  givenMaintenanceInfo,
).optional();

/** Fields of managed instances only. */
const managed = {
  parameters,
  relationships: optionalRelationships({
    service_plan: z.strictObject({ data: z.strictObject({ guid: relatedGUID }).nullable() }).optional(),
  }),
  maintenance_info: maintenanceInfo,
};

export const createInstanceBody = z.strictObject({
  type: z.enum(["managed", "user-provided"], "must be one of 'managed', 'user-provided'"),
  name: nameSchema,
  tags,
  relationships: z.strictObject({ space: toOneSchema, service_plan: toOneSchema.optional() }),
  parameters,
  metadata: metadataSchema.optional(),
  ...userProvided,
});
export type CreateInstance = z.output<typeof createInstanceBody>;

export const updateInstanceBody = z.strictObject({
  name: nameSchema.optional(),
  tags,
  metadata: metadataSchema.optional(),
  ...userProvided,
  ...managed,
});
export type UpdateInstance = z.output<typeof updateInstanceBody>;

const spaceFields = {
  "fields[space]": fields("space", "guid", "name", "relationships.organization"),
  "fields[space.organization]": fields("space.organization", "guid", "name"),
};
const includedFields = {
  ...spaceFields,
  "fields[service_plan]": fields("service_plan", "guid", "name", "relationships.service_offering"),
  "fields[service_plan.service_offering]": fields(
    "service_plan.service_offering",
    "guid",
    "name",
    "description",
    "documentation_url",
    "tags",
    "relationships.service_broker",
  ),
  "fields[service_plan.service_offering.service_broker]": fields(
    "service_plan.service_offering.service_broker",
    "guid",
    "name",
  ),
};

export const sharedSpacesQuery = z.strictObject(spaceFields);
export type SpaceFields = z.output<typeof sharedSpacesQuery>;

export const instanceQuery = z.strictObject(includedFields);
export type InstanceFields = z.output<typeof instanceQuery>;

export const instanceListQuery = listQuery(
  {
    names: csv.optional(),
    space_guids: csv.optional(),
    organization_guids: csv.optional(),
    service_plan_guids: csv.optional(),
    service_plan_names: csv.optional(),
    type: z.string().optional(),
    ...includedFields,
  },
  { orders: ["name"] },
);
/** Names that a body has, of those that are not for the instance's type. */
function foreignNames(body: object, names: object): string[] {
  return Object.keys(names).filter((name) => (body as Record<string, unknown>)[name] !== undefined);
}

/** Members of a body that this type of instance does not have. */
export function listForeign(type: "managed" | "user-provided", body: object): string[] {
  return foreignNames(body, type === "managed" ? userProvided : managed);
}

export const purgeQuery = z.strictObject({ purge: z.enum(["true", "false"]).optional() });
