// Bodies and queries of service plans and their visibility.
import { MAX_PLAN_ORGS } from "../../crds/service-plan/service-plan.ts";
import { z } from "zod";
import { fields } from "../http/fields.ts";
import { blankAs } from "../http/shared-schemas.ts";
import { booleanText, csv, include, listQuery } from "../http/query.ts";

const included = {
  include: include("space.organization", "service_offering").optional(),
  "fields[service_offering.service_broker]": fields("service_offering.service_broker", "guid", "name"),
};

export const planQuery = z.strictObject(included);
export type PlanIncludes = z.output<typeof planQuery>;

export const planListQuery = listQuery(
  {
    available: booleanText.optional(),
    broker_catalog_ids: csv.optional(),
    names: csv.optional(),
    organization_guids: csv.optional(),
    space_guids: csv.optional(),
    service_broker_guids: csv.optional(),
    service_broker_names: csv.optional(),
    service_instance_guids: csv.optional(),
    service_offering_guids: csv.optional(),
    service_offering_names: csv.optional(),
    ...included,
  },
  { orders: ["name"] },
);
export type PlanListQuery = z.output<typeof planListQuery>;

export const visibilityBody = z
  .strictObject({
    type: z.enum(["public", "admin", "organization"], "must be one of 'public', 'admin', 'organization'"),
    // As a GET gives them, name and all.
    organizations: blankAs(z.array(z.object({ guid: z.string().min(1).max(255) })).max(MAX_PLAN_ORGS), undefined),
  })
  .superRefine(({ type, organizations }, context) => {
    if ((type === "organization") === (organizations !== undefined)) return;
    const message = type === "organization" ? "can't be blank" : "must be blank unless type is 'organization'";
    context.addIssue({ code: "custom", message, path: ["organizations"] });
  });
